#pragma once

#include <espalier/method/detail/evidence.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/reasonrag/prompts.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// ReasonRAG (arXiv 2505.14069): Monte-Carlo tree search over reasoning steps (a query or the answer) and over the
/// evidence drawn from what a query found. Its rewards prefer short paths.
namespace espalier::method {

/// ReasonRAG's options (arXiv 2505.14069).
struct ReasonRagOptions {
  /// Published code: a score from 0 to 100 of every state, answers too. Paper: shortest-path reward estimation.
  enum class Value : std::uint8_t { judge, rollouts };
  std::uint32_t simulations = 64, children = 2;
  double c = 1.4142135623730951;
  std::uint32_t max_rounds = 7;
  bool last_word = false;
  std::uint32_t answer_rounds = 7;
  std::uint32_t window = 1;
  Value value = Value::judge;
  std::uint32_t n = 1;  ///< for Value::rollouts
  double decay = 0.95;  ///< an end has the reward r * decay^steps
  AnyPruning prune{};   ///< asked at values
  Budget budget{};      ///< per question

  void describe(auto& table) {
    const Range from_one = Range::at_least(1);
    table.add("simulations", simulations, "simulations per tree", from_one)
        .add("children", children, "samples per node", Range::between(1, 255))
        .add("c", c, "exploration weight of UCT", Range::at_least(0))
        .add("max_rounds", max_rounds, "retrievals on one path, then the answer is forced", from_one)
        .add("last_word", last_word,
             "after the last retrieval of a search a reasoning is free, and only below its query the answer is forced")
        .shown_if_changed()
        .add("answer_rounds", answer_rounds, "retrievals of `answer`, then the answer is forced", from_one)
        .add("window", window, "simulations under way in one tree", Range::between(1, 65535))
        .add("value", value, "what a state is worth: a judge's score given the gold answer, or rollouts",
             {"judge", "rollouts"})
        .add("n", n, "rollouts per state", from_one)
        .add("decay", decay, "what each step leaves of a terminal reward during the search", Range::above(0).up_to(1))
        .prune(prune, "Mcts");
  }
};

namespace detail {

/// Alternates reasoning and evidence until there is an answer.
class ReasonRagEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  static constexpr Kind evidence = static_cast<Kind>(rag::SegmentKind::sub_answer);
  static constexpr Kind reasoning = 16;  ///< draws queries and answers

  /// After `max_rounds` retrievals the answer is forced. With `last_word`, a reasoning may still answer or ask first.
  /// Its query is not sent, and the answer is forced below it.
  ReasonRagEnvironment(rag::Environment loop, std::uint32_t max_rounds, bool last_word = false)
      : loop_(std::move(loop)), max_rounds_(max_rounds), last_word_(last_word) {}

  [[nodiscard]] std::span<const Kind> kinds(const State& state) const {
    static constexpr std::array<Kind, 1> reason{reasoning}, extract{evidence};
    if (state.answer()) return {};
    const rag::Segment* last = state.transcript().last();
    return last != nullptr && last->documents() ? extract : reason;
  }

  template <class = void>
  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) const {
    const bool forced = kind == reasoning && over(state) && (!last_word_ || asked(state));
    auto slots = next_slots(state, *loop_.sampler().prompts().protocol());
    return loop_.draw(next_purpose(state, forced), std::move(slots), n, context, rag::SegmentKind::answer, forced);
  }

  template <class = void>
  Task<State> step(State state, Action action, Context context) const {
    if (over(state)) return espalier::detail::as_task(state.with(action));
    return loop_.step(std::move(state), std::move(action), context);
  }

 private:
  [[nodiscard]] bool over(const State& state) const { return state.iterations() >= max_rounds_; }
  /// True if the path ends with a query that was not sent.
  static bool asked(const State& state) {
    const rag::Segment* last = state.transcript().last();
    return last != nullptr && last->kind() == rag::SegmentKind::query;
  }
  rag::Environment loop_;
  std::uint32_t max_rounds_;
  bool last_word_;
};

/// A terminal state's reward, discounted for every step: r * decay^steps.
class ShortPath {
 public:
  ShortPath(rag::AnyReward reward, double decay) : reward_(std::move(reward)), decay_(decay) {}
  template <class = void>
  [[nodiscard]] Task<std::vector<double>> group(std::span<const rag::State> states) const {
    return discounted(this, std::vector<rag::State>(states.begin(), states.end()));
  }

 private:
  template <class = void>
  static Task<std::vector<double>> discounted(const ShortPath* self, std::vector<rag::State> states) {
    std::vector<double> values = co_await self->reward_.group(std::span<const rag::State>(states));
    for (std::size_t i = 0; i < states.size(); ++i) values[i] *= std::pow(self->decay_, steps_of(states[i]));
    co_return values;
  }
  rag::AnyReward reward_;
  double decay_;
};

/// Values a state by a judge that sees the gold answer, or by rollouts, whose ends are worth their rewards. The judge
/// values ends too, so that one scale steers the search. Their rewards are noted beside it.
class ReasonRagValue {
 public:
  using Result = Evaluation<rag::State, double>;
  ReasonRagValue(const ReasonRagOptions& options, rag::Sampler sampler, rag::AnyReward reward)
      : judged_(options.value == ReasonRagOptions::Value::judge),
        sampler_(std::move(sampler)),
        rollouts_({.n = options.n, .max_steps = 2 * options.max_rounds + 2},
                  ShortPath(std::move(reward), options.decay)) {}

  template <class = void>
  Task<Result> operator()(ReasonRagEnvironment& env, rag::State state, Context context) {
    if (!judged_) co_return co_await rollouts_(env, state, context);
    auto slots = next_slots(state, *sampler_.prompts().protocol());
    slots.emplace_back("gold", rag::render_text(state.gold()));
    const auto samples = co_await sampler_.draw("judge", std::move(slots), 1, context);
    Result result(0);
    const bool ends = env.kinds(state).empty();
    if (ends) result = co_await rollouts_(env, state, context);
    result.known = samples.front().reply.has_value();
    if (result.known) result.value = samples.front().reply->scores.front() / 100;
    co_return result;
  }

 private:
  bool judged_;
  rag::Sampler sampler_;
  Rollout<ShortPath> rollouts_;
};

}  // namespace detail

/// ReasonRAG's search.
class ReasonRag {
 public:
  ReasonRag(const ReasonRagOptions& options, const rag::Environment& loop, rag::AnyReward reward)
      : environment_(loop, detail::checked(options).max_rounds, options.last_word),
        engine_({.simulations = options.simulations,
                 .width = options.children,
                 .window = options.window,
                 .expand = MctsOptions::Expand::one,
                 .budget = options.budget},
                detail::ReasonRagValue(options, loop.sampler(), std::move(reward)), Uct({.w = options.c}),
                options.prune) {}

  /// Grows the tree of one question. This object must outlive the task.
  template <class = void>
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    return engine_(environment_, std::move(root), seed);
  }

 private:
  detail::ReasonRagEnvironment environment_;
  Mcts<detail::ReasonRagValue, Uct, AnyPruning> engine_;
};

}  // namespace espalier::method
