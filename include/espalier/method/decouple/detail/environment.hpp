#pragma once

#include <espalier/backend/hybrid.hpp>
#include <espalier/method/decouple/prompts.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <array>
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
    if (!query.empty() && std::find(queries.begin(), queries.end(), query) == queries.end())
      queries.push_back(std::move(query));
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
    if (state.iterations() >= max_depth_) return force(std::move(state), n, std::move(context));
    return loop_.draw(kind == plan ? "plan" : "step", std::move(slots), n, std::move(context));
  }
  template <class = void>
  Task<State> step(State state, Action action, Context context) const {
    if (action.kind == rag::SegmentKind::query && action.text.starts_with('['))
      return search(loop_, std::move(state), std::move(action), std::move(context));
    return loop_.step(std::move(state), std::move(action), std::move(context));
  }
  /// Answers that the model is told to give.
  template <class = void>
  [[nodiscard]] Task<std::vector<Proposal<Action>>> force(State state, std::uint32_t n, Context context) const {
    return loop_.draw("forced_answer", loop_.slots(state.view()), n, std::move(context), rag::SegmentKind::answer,
                      true);
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
    co_return state.with(action).with(rag::Segment(
        backend::Hybrid::fuse(found, static_cast<std::uint32_t>(most), backend::HybridOptions().constant)));
  }

  rag::Environment loop_;
  bool in_two_;
  std::uint32_t max_depth_;
};

}  // namespace espalier::method::detail
