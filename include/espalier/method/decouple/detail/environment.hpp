#pragma once

#include <espalier/backend/fusion.hpp>
#include <espalier/method/decouple/options.hpp>
#include <espalier/method/decouple/prompts.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// The queries of one search. A text in square brackets is a list: its items stand between commas, with or without
/// quotes, and equal ones are one query. Any other text is one query.
inline std::vector<std::string> query_list(std::string_view text) {
  std::string_view rest = rag::detail::strip(text);
  if (rest.size() < 2 || rest.front() != '[' || rest.back() != ']') return {std::string(text)};
  rest = rest.substr(1, rest.size() - 2);
  std::vector<std::string> queries;
  while (!rest.empty()) {
    rest = rag::detail::strip(rest);
    const char quote = rest.empty() ? ' ' : rest.front();
    std::size_t begin = 0, end = rest.find(',');
    if (quote == '"' || quote == '\'')
      if (const std::size_t closed = rest.find(quote, 1); closed != rest.npos) {
        begin = 1;
        end = closed;
      }
    std::string query(rag::detail::strip(rest.substr(begin, end == rest.npos ? end : end - begin)));
    const std::size_t comma = end == rest.npos ? end : rest.find(',', end);
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    if (!query.empty() && std::ranges::find(queries, query) == queries.end()) queries.push_back(std::move(query));
  }
  if (queries.empty()) queries.emplace_back(text);
  return queries;
}

/// DecoupleRAG's steps: thought and action in one step for labelled trees, or a plan and then its query for beams.
class DecoupleRagEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  enum : Kind { whole = 16, plan, query };

  DecoupleRagEnvironment(rag::Environment loop, bool in_two, std::uint32_t max_depth)
      : loop_(std::move(loop)), in_two_(in_two), max_depth_(max_depth) {}

  [[nodiscard]] std::span<const Kind> kinds(const State& state) const {
    static constexpr std::array<Kind, 3> each{whole, plan, query};
    if (state.answer()) return {};
    const rag::Segment* last = state.transcript().last();
    const bool planned = last != nullptr && last->kind() == rag::SegmentKind::thought;
    return std::span<const Kind>(each).subspan(in_two_ ? (planned ? 2 : 1) : 0, 1);
  }
  template <class = void>
  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) const {
    auto slots = loop_.slots(state.view());
    if (kind == query) return loop_.draw("query", std::move(slots), n, std::move(context), rag::SegmentKind::query);
    if (state.iterations() >= max_depth_)
      return loop_.draw("forced_answer", std::move(slots), n, std::move(context), rag::SegmentKind::answer, true);
    return loop_.draw(kind == plan ? "plan" : "step", std::move(slots), n, std::move(context));
  }
  template <class = void>
  Task<State> step(State state, Action action, Context context) const {
    if (action.kind == rag::SegmentKind::query && action.text.starts_with('['))
      return search(loop_, std::move(state), std::move(action), std::move(context));
    return loop_.step(std::move(state), std::move(action), std::move(context));
  }

  [[nodiscard]] const rag::Environment& loop() const { return loop_; }

 private:
  /// Sends each query of a list to the retriever. Their results are fused by reciprocal ranks.
  template <class = void>
  static Task<State> search(rag::Environment loop, State state, Action action, Context context) {
    const std::vector<std::string> queries = query_list(action.text);
    std::vector<Task<Passages>> asked;
    for (const std::string& query : queries) asked.push_back(loop.find(query, context));
    const std::vector<Passages> found = co_await gather(std::move(asked));
    std::size_t most = 0;
    for (const Passages& list : found) most = std::max(most, list.size());
    Passages fused = backend::fuse(found, static_cast<std::uint32_t>(most));
    co_return state.with(action).with(rag::Segment(std::move(fused)));
  }

  rag::Environment loop_;
  bool in_two_;
  std::uint32_t max_depth_;
};

/// DecoupleRAG's two values of a step, in [-1, 1]: of its plan, and of its search, which guides searches (Eq. 3).
struct Dual {
  double plan = 0, search = 0;
  Dual& operator+=(const Dual& o) {
    plan += o.plan;
    search += o.search;
    return *this;
  }
  friend Dual operator*(Dual v, double factor) { return {v.plan * factor, v.search * factor}; }
  friend double utility(const Dual& value) { return value.search; }
};

using DualTree = Tree<rag::State, rag::Action, Dual>;

/// The tree with search values as its values and mean plan values as the annotation "plan".
inline rag::Tree to_rag_tree(DualTree&& tree) {
  rag::Tree out(std::move(tree.state(0)), tree.seed);
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto& from = tree[id];
    if (id > 0) out.add(from.parent, tree.action(id), std::move(tree.state(id)), from.kind, from.prior);
    auto& to = out[id];
    to.total = from.total.search;
    espalier::detail::take_findings(to, from);
    if (from.visits > 0) out.annotate("plan", id, from.mean().plan);
  }
  for (auto& r : tree.rollouts) out.rollouts.push_back({r.node, std::move(r.state), r.value.search});
  out.skips = std::move(tree.skips);
  static_cast<SearchFacts&>(out) = std::move(tree);
  return out;
}

/// Maps the text of a state to its two values: a value server, a head over an encoder, or your own function.
using ValueSource = std::function<Task<Dual>(std::string)>;

/// Reads two values from what a port returns for a text.
using ReadDual = std::function<Dual(const Embedding&)>;

/// The numbers of a value server.
inline Dual two_numbers(const Embedding& numbers) {
  if (numbers.size() != 2)
    throw Error("a value source gave " + std::to_string(numbers.size()) +
                " numbers for a text, not a plan and a search value");
  return {static_cast<double>(numbers[0]), static_cast<double>(numbers[1])};
}
template <class = void>
ValueSource value_source(EncoderPort port, ReadDual read) {
  const auto value = [](EncoderPort asked, ReadDual reader, std::string text) -> Task<Dual> {
    const Embedding numbers = co_await asked.ask(EncodeRequest(std::move(text), EncodeRequest::Role::passage));
    co_return reader(numbers);
  };
  return [value, port = std::move(port), read = std::move(read)](std::string text) {
    return value(port, read, std::move(text));
  };
}

/// The text that a value source gets: the question and the steps.
inline std::string value_text(const rag::State& state, const Protocol& protocol) {
  return "Question: " + rag::detail::neutralise(state.question().text) + '\n' +
         rag::render_history(state.transcript(), protocol).text;
}

/// The two values of a state. In labelled trees an answer has +1 or -1 against gold. The source gives all else.
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
