#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/task.hpp>

#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

/// Means that rollouts use the environment of the search itself and that their steps become nodes, so a later selection
/// of them costs nothing. Supported by Mcts.
struct Grafted {};

namespace detail {

/// Means that rollouts use the environment of the search itself.
struct SameEnvironment {};

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

/// Monte-Carlo value of a state: the mean reward of n rollouts (DecEx-RAG, Eq. 1). Each rollout takes the environment's
/// first legal kind until a terminal state or `max_steps`. The n first steps are drawn in one proposal, so they share a
/// prompt. A rollout whose text cannot be read does not count. If none can be read, the value is unknown.
///
/// Reward: r(state) -> value. Where rollouts are judged together: r.group(span of states) -> vector of values, or a
/// Task of it. `Policy`: another environment over the same states for the rollouts, or Grafted.
template <class Reward, class Policy = detail::SameEnvironment>
class Rollout {
 public:
  struct Options {
    std::uint32_t n = 4;          ///< rollouts per state, > 0
    std::uint32_t max_steps = 8;  ///< steps per rollout, > 0. The state reached then is rewarded as it is
  };
  static constexpr bool grafts = std::is_same_v<Policy, Grafted>;
  template <class Env>
  using Result = std::conditional_t<grafts, detail::GraftedEvaluation<Env>, Evaluation<typename Env::State, double>>;
  Rollout(Options options, Reward reward, Policy policy = Policy())
      : options_(options), reward_(std::move(reward)), policy_(std::move(policy)) {
    if (options_.n == 0) bad_option("n", options_.n, "1 or more");
    if (options_.max_steps == 0) bad_option("max_steps", options_.max_steps, "1 or more");
  }

  template <class Env>
    requires RewardFunction<Reward, typename Env::State> || detail::GroupReward<Reward, typename Env::State>
  Task<Result<Env>> operator()(Env& env, const typename Env::State& state, const Context& context) {
    if constexpr (grafts || std::is_same_v<Policy, detail::SameEnvironment>) return simulate(&env, state, context);
    else return simulate(&policy_, state, context);
  }

  /// The ends of the rollouts with the indices context.first ... context.first + count - 1, with their rewards. `state`
  /// is not terminal. A rollout that cannot be read has no end.
  template <class Env, class State>
  Task<std::vector<std::pair<State, double>>> some(Env& env, const State& state, const Context& context,
                                                   std::uint32_t count) {
    if constexpr (std::is_same_v<Policy, detail::SameEnvironment>) return rewarded(&env, state, context, count);
    else return rewarded(&policy_, state, context, count);
  }

 private:
  template <class Env>
  using Path = std::vector<detail::RolloutStep<Env>>;

  template <class Env, class State>
  Task<Result<Env>> simulate(Env* env, State state, Context context) {
    std::vector<Path<Env>> paths;
    std::vector<State> ends;
    if (std::ranges::empty(env->kinds(state))) ends.push_back(std::move(state));
    else ends = co_await finished(env, std::move(state), context.from(0), options_.n, &paths);
    std::vector<double> values = co_await rewards(ends);
    Result<Env> evaluation(0);
    if constexpr (grafts) evaluation.paths = std::move(paths);
    evaluation.known = !ends.empty();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      evaluation.value += values[i];
      evaluation.terminals.emplace_back(std::move(ends[i]), values[i]);
    }
    if (evaluation.known) evaluation.value /= static_cast<double>(ends.size());
    co_return evaluation;
  }
  template <class Env, class State>
  Task<std::vector<std::pair<State, double>>> rewarded(Env* env, State state, Context context, std::uint32_t count) {
    std::vector<Path<Env>> paths;
    std::vector<State> ends = co_await finished(env, std::move(state), context, count, &paths);
    std::vector<double> values = co_await rewards(ends);
    std::vector<std::pair<State, double>> all;
    for (std::size_t i = 0; i < ends.size(); ++i) all.emplace_back(std::move(ends[i]), values[i]);
    co_return all;
  }
  /// The ends of `count` rollouts that can be read. `paths` gets a path for each of all.
  template <class Env, class State>
  Task<std::vector<State>> finished(Env* env, State state, Context context, std::uint32_t count,
                                    std::vector<Path<Env>>* paths) {
    const auto kinds = env->kinds(state);
    const Kind kind = *std::ranges::begin(kinds);
    auto firsts = co_await detail::as_task(detail::propose(*env, state, kind, count, context));
    std::vector<Task<std::optional<State>>> tasks;
    paths->resize(static_cast<std::size_t>(std::ranges::distance(firsts)));
    std::uint32_t sample = 0;
    for (auto& first : firsts) {
      tasks.push_back(finish(env, state, std::move(first), context.from(context.first + sample), &(*paths)[sample]));
      ++sample;
    }
    auto results = co_await gather(std::move(tasks));
    std::vector<State> ends;
    for (auto& end : results)
      if (end) ends.push_back(std::move(*end));
    co_return ends;
  }
  /// The rewards of these ends. `ends` must outlive the task.
  template <class State>
  Task<std::vector<double>> rewards(const std::vector<State>& ends) {
    if constexpr (detail::GroupReward<Reward, State>)
      return detail::as_task(reward_.group(std::span<const State>(ends)));
    else {
      std::vector<double> values;
      for (const State& end : ends) values.push_back(reward_(end));
      return detail::as_task(std::move(values));
    }
  }

  /// Completes one rollout from its first proposal. No state if a text could not be read. Records the path if it is to
  /// be grafted.
  template <class Env, class State, class Proposal>
  Task<std::optional<State>> finish(Env* env, State state, Proposal proposal, Context context, Path<Env>* path) {
    const Seed steps = context.seed.purpose("rollout step");
    for (std::uint32_t t = 1;; ++t) {
      const bool read = proposal.closed == Reason::none;
      if (read) state = co_await detail::as_task(detail::step(*env, state, proposal.action, context));
      if constexpr (grafts) path->push_back({proposal, state});
      if (!read) co_return std::nullopt;
      const auto kinds = env->kinds(state);
      if (std::ranges::empty(kinds) || t >= options_.max_steps) co_return state;
      const Kind kind = *std::ranges::begin(kinds);
      auto next = co_await detail::as_task(detail::propose(*env, state, kind, 1u, context.under(steps.child(t))));
      if (next.empty()) co_return state;
      proposal = std::move(next.front());
    }
  }

  Options options_;
  Reward reward_;
  Policy policy_;
};

}  // namespace espalier
