#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

/// Rollouts in the search's own environment, whose steps become nodes, so that to choose them later costs nothing.
struct Grafted {};

/// A policy of rollouts: each legal kind is equally likely, and so are the first `width` proposals of a kind.
struct RandomMoves {
  std::uint32_t width = 64;

  template <detail::PlainEnvironment Env>
  typename Env::Action operator()(Env& env, const typename Env::State& state, const Context& context) const {
    Random random(context.seed);
    const auto one = [&](const auto& list) {
      const auto size = static_cast<std::uint32_t>(std::ranges::distance(list));
      if (size == 0) throw Error("RandomMoves: a legal kind has no proposals");
      return *std::ranges::next(std::ranges::begin(list), random.below(size));
    };
    return one(detail::propose(env, state, one(env.kinds(state)), width, context)).action;
  }
};

namespace detail {

/// Means that rollouts use the environment of the search itself.
struct SameEnvironment {};

/// Means that a state's reward is the environment's value(state).
struct OwnValue {};
/// The reward of a state of an environment.
template <class Reward, class Env>
auto reward_of(Reward& reward, Env&, const typename Env::State& state) -> decltype(reward(state)) {
  return reward(state);
}
template <class Env>
auto reward_of(OwnValue&, Env& env, const typename Env::State& state) -> decltype(env.value(state)) {
  return env.value(state);
}

/// One step of a rollout. For a proposal that could not be read, `state` is the state before it.
template <class Env>
struct RolloutStep {
  Proposal<typename Env::Action> proposal;
  typename Env::State state;
};
/// The result of rollouts whose steps are grafted: their paths besides the value.
template <class Env>
class GraftedEvaluation : public Evaluation<typename Env::State, double> {
 public:
  using Evaluation<typename Env::State, double>::Evaluation;
  std::vector<std::vector<RolloutStep<Env>>> paths{};
};

}  // namespace detail

/// Monte-Carlo value of a state: the mean reward of n rollouts (DecEx-RAG, Eq. 1). Each takes steps until a terminal
/// state or `max_steps`. Where nothing is awaited, the value is given at once. A rollout whose text cannot be read does
/// not count. If none can be read, the value is unknown.
///
/// Reward: r(state) -> value. Where rollouts are judged together: r.group(span of states) -> vector of values, or a
/// Task of it. Without a reward, the environment has value(state).
///
/// Policy: f(env, state) -> action, with a context of its own seed as an optional last argument, such as
/// RandomMoves. Or another environment over the same states. Without a policy, and in another environment, rollouts
/// take the first legal kind. The n first steps are then drawn in one proposal, so they share a prompt.
template <class Reward = detail::OwnValue, class Policy = detail::SameEnvironment>
class Rollout {
 public:
  struct Options {
    std::uint32_t n = 4;          ///< rollouts per state, > 0
    std::uint32_t max_steps = 8;  ///< steps per rollout, > 0. The state reached then is rewarded as it is
  };
  static constexpr bool grafts = std::is_same_v<Policy, Grafted>;
  static constexpr bool elsewhere = Environment<Policy>;
  static constexpr bool chooses = !grafts && !elsewhere && !std::is_same_v<Policy, detail::SameEnvironment>;
  /// The environment of the rollouts.
  template <class Env>
  using World = std::conditional_t<elsewhere, Policy, Env>;
  template <class State>
  using Ends = std::vector<std::pair<State, double>>;
  template <class Env>
  using Result = std::conditional_t<grafts, detail::GraftedEvaluation<Env>, Evaluation<typename Env::State, double>>;
  /// True if nothing is awaited.
  template <class Env>
  static constexpr bool plain = detail::PlainEnvironment<World<Env>> && !requires(const Reward& r) {
    requires detail::is_task_v<decltype(r.group(std::span<const typename Env::State>()))>;
  };
  Rollout(Options options, Reward reward = Reward(), Policy policy = Policy())
      : options_(options), reward_(std::move(reward)), policy_(std::move(policy)) {
    if (options_.n == 0) bad_option("n", options_.n, "1 or more");
    if (options_.max_steps == 0) bad_option("max_steps", options_.max_steps, "1 or more");
  }

  /// A task if the environment of the rollouts or the reward awaits something.
  template <class Env>
  auto operator()(Env& env, const typename Env::State& state, const Context& context)
      -> std::conditional_t<plain<Env>, Result<Env>, Task<Result<Env>>> {
    static_assert(rewards_in<Env>, "reward of Rollout: must be reward(const State&) -> double");
    static_assert(steps_in<Env>, "policy of Rollout: must be policy(Environment&, const State&) -> Action");
    if constexpr (!rewards_in<Env> || !steps_in<Env>) throw Error("a program that does not compile");
    else if constexpr (plain<Env>) return detail::run_plain(simulate(&world(env), state, context));
    else return simulate(&world(env), state, context);
  }

  /// The ends of the rollouts with the indices context.first ... context.first + count - 1, with their rewards. `state`
  /// is not terminal. A rollout that cannot be read has no end.
  template <class Env, class State>
  Task<Ends<State>> some(Env& env, const State& state, const Context& context, std::uint32_t count) {
    return rewarded<World<Env>, State>(&world(env), state, context, count, nullptr);
  }

 private:
  /// True if the reward and the policy have one of their forms.
  template <class Env>
  static constexpr bool rewards_in = detail::GroupReward<Reward, typename Env::State> ||
                                     requires(Reward& r, World<Env>& env, const typename Env::State& s) {
                                       { detail::reward_of(r, env, s) } -> std::convertible_to<double>;
                                     };
  template <class Env>
  static constexpr bool steps_in =
      !chooses || requires(Policy& p, Env& env, const typename Env::State& s, const Context& context) {
        { detail::evaluate(p, env, s, context) } -> std::convertible_to<typename Env::Action>;
      };

  template <class Env>
  World<Env>& world(Env& env) {
    if constexpr (elsewhere) return policy_;
    else return env;
  }
  template <class Env>
  using Path = std::vector<detail::RolloutStep<Env>>;

  template <class Env, class State>
  Task<Result<Env>> simulate(Env* env, State state, Context context) {
    std::vector<Path<Env>> paths;
    Result<Env> evaluation(0);
    std::vector<Path<Env>>* kept = grafts ? &paths : nullptr;
    evaluation.terminals = co_await rewarded(env, std::move(state), context.from(0), options_.n, kept);
    evaluation.known = !evaluation.terminals.empty();
    for (const auto& [end, reward] : evaluation.terminals) evaluation.value += reward;
    if (evaluation.known) evaluation.value /= static_cast<double>(evaluation.terminals.size());
    if constexpr (grafts) evaluation.paths = std::move(paths);
    co_return evaluation;
  }
  /// The readable ends of `count` rollouts, with rewards. A terminal state is its own end. `paths` gets those to graft.
  template <class Env, class State>
  Task<Ends<State>> rewarded(Env* env, State state, Context context, std::uint32_t count,
                             std::vector<Path<Env>>* paths) {
    std::vector<State> ends;
    if (std::ranges::empty(env->kinds(state))) ends.push_back(std::move(state));
    else ends = co_await finished(env, std::move(state), context, count, paths);
    Ends<State> all;
    if constexpr (detail::GroupReward<Reward, State>) {
      const std::span<const State> judged(ends);
      const std::vector<double> values = co_await detail::as_task(reward_.group(judged));
      for (std::size_t i = 0; i < ends.size(); ++i) all.emplace_back(std::move(ends[i]), values[i]);
    } else {
      for (State& end : ends) {
        const double value = detail::reward_of(reward_, *env, end);
        all.emplace_back(std::move(end), value);
      }
    }
    co_return all;
  }
  template <class Env, class State>
  Task<std::vector<State>> finished(Env* env, State state, Context context, std::uint32_t count,
                                    std::vector<Path<Env>>* paths) {
    if constexpr (chooses) context.seed = context.seed.purpose("rollout");
    auto firsts = co_await detail::as_task(next(*env, state, count, context));
    std::vector<Task<std::optional<State>>> tasks;
    if (paths) paths->resize(static_cast<std::size_t>(std::ranges::distance(firsts)));
    std::uint32_t sample = 0;
    for (auto& first : firsts) {
      Path<Env>* path = paths ? &(*paths)[sample] : nullptr;
      tasks.push_back(finish(env, state, std::move(first), context.from(context.first + sample++), path));
    }
    auto results = co_await gather(std::move(tasks));
    std::vector<State> ends;
    for (auto& end : results)
      if (end) ends.push_back(std::move(*end));
    co_return ends;
  }
  /// The next steps of `count` rollouts from a state. A function chooses each of them under a seed of its own.
  template <class Env, class State>
  auto next(Env& env, const State& state, std::uint32_t count, const Context& context) {
    const auto kinds = env.kinds(state);
    const Kind kind = *std::ranges::begin(kinds);
    if constexpr (!chooses) return detail::propose(env, state, kind, count, context);
    else {
      std::vector<Proposal<typename Env::Action>> chosen;
      for (std::uint32_t i = 0; i < count; ++i) {
        const Context there = context.under(context.seed.child(context.first + i)).from(0);
        chosen.emplace_back(detail::evaluate(policy_, env, state, there), kind);
      }
      return chosen;
    }
  }
  /// Completes one rollout from its first proposal. No state if a text could not be read.
  template <class Env, class State, class Proposal>
  Task<std::optional<State>> finish(Env* env, State state, Proposal proposal, Context context, Path<Env>* path) {
    const Seed steps = context.seed.purpose("rollout step");
    for (std::uint32_t t = 1;; ++t) {
      const bool read = proposal.closed == Reason::none;
      if (read) state = co_await detail::as_task(detail::step(*env, state, proposal.action, context));
      if (path) path->push_back({proposal, state});
      if (!read) co_return std::nullopt;
      if (std::ranges::empty(env->kinds(state)) || t >= options_.max_steps) co_return state;
      auto drawn = co_await detail::as_task(next(*env, state, 1, context.under(steps.child(t))));
      if (std::ranges::empty(drawn)) co_return state;
      proposal = std::move(*std::ranges::begin(drawn));
    }
  }

  Options options_;
  Reward reward_;
  Policy policy_;
};

}  // namespace espalier
