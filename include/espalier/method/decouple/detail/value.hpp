#pragma once

#include <espalier/method/decouple/detail/environment.hpp>
#include <espalier/method/decouple/options.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/state.hpp>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// DecoupleRAG's two values of a step, each in [-1, 1]: the quality of its plan and of its search. Searches are guided
/// by the second (Eq. 3).
struct Dual {
  double plan = 0, search = 0;
  Dual& operator+=(const Dual& o) {
    plan += o.plan;
    search += o.search;
    return *this;
  }
  friend Dual operator*(Dual v, double factor) { return {v.plan * factor, v.search * factor}; }
  friend double utility(const Dual& value) { return value.search; }
  /// Its parts for people.
  friend std::array<std::pair<const char*, double>, 2> parts(const Dual& value) {
    return {{{"plan", value.plan}, {"search", value.search}}};
  }
};

using DualTree = Tree<rag::State, rag::Action, Dual>;

/// The tree with search values as its values and mean plan values as the annotation "plan".
inline rag::Tree to_rag_tree(DualTree&& tree) {
  rag::Tree out(std::move(tree.state(0)), tree.seed);
  out.reserve(tree.size());
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto& from = tree[id];
    if (id > 0) out.add(from.parent, tree.action(id), std::move(tree.state(id)), from.kind, from.prior);
    auto& to = out[id];
    to.total = from.total.search;
    espalier::detail::take_findings(to, from);
    if (from.visits > 0) out.annotate("plan", id, from.mean().plan);
  }
  for (auto& rollout : tree.rollouts)
    out.rollouts.push_back({rollout.node, std::move(rollout.state), rollout.value.search});
  out.skips = std::move(tree.skips);
  static_cast<SearchFacts&>(out) = std::move(tree);
  return out;
}

/// Maps the text of a state to its two values: a value server, a head over an encoder, or your own function.
using ValueSource = std::function<Task<Dual>(std::string)>;

/// The text that a value source gets: the question and the steps.
inline std::string value_text(const rag::State& state, const Protocol& protocol) {
  return "Question: " + rag::detail::neutralise(state.question().text) + '\n' +
         rag::render_history(state.transcript(), protocol).text;
}

/// The two values of a state. For labelled trees an answer has +1 or -1 against gold. All else comes from the chosen
/// source.
class DecoupleRagValue {
 public:
  using Result = Evaluation<rag::State, Dual>;
  DecoupleRagValue(const DecoupleRagOptions& options, bool labels, ValueSource source = nullptr)
      : options_(options), labels_(labels), source_(std::move(source)) {}

  template <class = void>
  Task<Result> operator()(DecoupleRagEnvironment& env, rag::State state, Context context) const {
    Result result{Dual{}};
    if (labels_ && state.answer()) {
      const std::optional<bool> right = co_await judge_answer(&env, state, context);
      result.known = right.has_value();
      const double worth = right.value_or(false) ? 1 : -1;
      result.value = Dual{worth, worth};
      if (right) result.terminals.emplace_back(std::move(state), result.value);
      co_return result;
    }
    const std::optional<Dual> judged = co_await judge(&env, std::move(state), std::move(context));
    result.known = judged.has_value();
    if (judged) result.value = *judged * (labels_ ? options_.inner_scale : 1);
    co_return result;
  }

 private:
  /// The values of the source, or nothing if its reply cannot be read.
  template <class = void>
  Task<std::optional<Dual>> judge(DecoupleRagEnvironment* env, rag::State state, Context context) const {
    if (!labels_ && options_.values == DecoupleRagOptions::Values::none) co_return Dual{};
    if (!labels_ && by_chance(state)) {
      const double number = 2 * Random(context.seed.purpose("rank")).uniform() - 1;
      co_return Dual{number, number};
    }
    const rag::Sampler& sampler = env->loop().sampler();
    if (source_) co_return co_await source_(value_text(state, *sampler.prompts().protocol()));
    const auto samples = co_await sampler.draw("judge", env->loop().slots(state.view()), 1, std::move(context));
    const auto& reply = samples.front().reply;
    if (!reply) co_return std::nullopt;
    co_return Dual{reply->scores[0], reply->scores[1]};
  }
  /// True if the beam ranks a state at random. Answers are always valued.
  [[nodiscard]] bool by_chance(const rag::State& state) const {
    const rag::Segment* last = state.transcript().last();
    const bool searched = last != nullptr && last->documents();
    return !state.answer() &&
           (searched ? options_.rank_searches : options_.rank_plans) == DecoupleRagOptions::Ranking::random;
  }
  /// True if an answer is right. Nothing if the judge's reply cannot be read.
  template <class = void>
  Task<std::optional<bool>> judge_answer(DecoupleRagEnvironment* env, rag::State state, Context context) const {
    if (options_.terminal == DecoupleRagOptions::Terminal::match)
      co_return rag::score(rag::Profile::common, state.answer(), state.gold()).em == 1;
    auto slots = env->loop().slots(state.view());
    slots.emplace_back("gold", rag::render_text(state.gold()));
    slots.emplace_back("answer", rag::render_text(*state.answer()));
    const auto samples = co_await env->loop().sampler().draw("judge_answer", std::move(slots), 1, std::move(context));
    if (!samples.front().reply) co_return std::nullopt;
    co_return rag::detail::read_verdict(samples.front().reply->content);
  }

  DecoupleRagOptions options_;
  bool labels_;
  ValueSource source_;
};

}  // namespace espalier::method::detail
