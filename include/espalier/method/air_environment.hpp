#pragma once

#include <espalier/method/air_options.hpp>
#include <espalier/method/air_prompts.hpp>
#include <espalier/rag/environment.hpp>

#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

/// AirRAG's five actions and when each is legal (section 3.1).
class AirEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  /// System analysis, direct answer, retrieval answer, query transformation, summary answer.
  enum : Kind { say = 16, da, ra, qt, sa };

  AirEnvironment(rag::Environment loop, const AirOptions& options) : loop_(std::move(loop)), options_(options) {}

  /// What a path has come to.
  struct Progress {
    std::deque<std::string> queries;       ///< that wait for retrieval; the question itself where nothing split it
    std::uint32_t actions = 0, retrievals = 0, transformations = 0;
    rag::SegmentKind last = rag::SegmentKind::notice;  ///< what the last action added; a notice at the root
  };
  [[nodiscard]] Progress progress(const State& state) const {
    Progress p;
    p.queries.push_back(state.question().text);
    for (const rag::Segment* segment : state.transcript().segments()) {
      const rag::SegmentKind kind = segment->kind();
      if (kind == rag::SegmentKind::query || kind == rag::SegmentKind::documents || kind == rag::SegmentKind::thought) continue;
      ++p.actions;
      p.last = kind;
      if (kind == rag::SegmentKind::sub_answer) {
        ++p.retrievals;
        if (!p.queries.empty()) p.queries.pop_front();
      } else if (kind == rag::SegmentKind::queries) {
        p.transformations += options_.lite || p.actions > 1;
        const std::vector<std::string> lines = read_queries(segment->words());
        if (lines.empty()) continue;  // None: what waits stays
        if (!p.queries.empty()) p.queries.pop_front();
        p.queries.insert(p.queries.begin(), lines.begin(), lines.end());
      }
    }
    return p;
  }

  [[nodiscard]] std::vector<Kind> kinds(const State& state) const {
    if (state.answer()) return {};
    const Progress p = progress(state);
    if (p.actions == 0) return options_.lite ? std::vector<Kind>{ra, qt} : std::vector<Kind>{say, da};
    const bool full = p.actions + 1 >= options_.max_depth || p.last == rag::SegmentKind::own_answer;
    const bool waits = !p.queries.empty() && p.retrievals < options_.max_pairs;
    const bool transforms = p.transformations < options_.max_pairs;
    if (full) return {sa};
    if (p.last == rag::SegmentKind::queries) {
      if (p.actions == 1 && !options_.lite) return {ra, qt};  // after the analysis
      return {waits ? ra : sa};
    }
    if (waits && transforms) return {qt};
    if (waits) return {ra};
    return transforms && p.retrievals < options_.max_pairs ? std::vector<Kind>{sa, qt} : std::vector<Kind>{sa};
  }

  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) const {
    const Progress p = progress(state);
    auto slots = loop_.slots(state.view());
    const std::string query = p.queries.empty() ? std::string("(none)") : p.queries.front();
    slots.emplace_back("query", rag::render_text(query));
    if (kind == say) return loop_.draw("say", std::move(slots), std::min(n, options_.n_say), std::move(context), rag::SegmentKind::queries);
    if (kind == da) return loop_.draw("da", std::move(slots), std::min(n, options_.n_da), std::move(context), options_.da_terminal ? rag::SegmentKind::answer : rag::SegmentKind::own_answer);
    if (kind == ra) return answer_from_documents(std::move(slots), query, std::min(n, options_.n_ra), std::move(context));
    slots.emplace_back("documents", rag::render_documents(all_documents(state), *air_protocol()));
    if (kind == qt) return loop_.draw("qt", std::move(slots), std::min(n, options_.n_qt), std::move(context), rag::SegmentKind::queries);
    return loop_.draw("sa", std::move(slots), std::min(n, options_.n_sa), std::move(context));
  }

  Task<State> step(State state, Action action, Context context) const {
    if (action.found) {
      state = state.with(rag::Segment(rag::SegmentKind::query, rag::ModelText(progress(state).queries.front())));
      state = state.with(rag::Segment(*action.found));
    }
    return loop_.step(std::move(state), std::move(action), std::move(context));
  }

  [[nodiscard]] const rag::Environment& loop() const { return loop_; }

 private:
  /// One search, then n answers from what it found.
  Task<std::vector<Proposal<Action>>> answer_from_documents(std::vector<std::pair<std::string, rag::Rendering>> slots, std::string query, std::uint32_t n,
                                                            Context context) const {
    const auto found = std::make_shared<const Passages>(co_await loop_.find(std::move(query), context));
    slots.emplace_back("documents", rag::render_documents(*found, *air_protocol()));
    auto answers = co_await loop_.draw("ra", std::move(slots), n, context, rag::SegmentKind::sub_answer);
    for (auto& answer : answers) answer.action.found = found;
    co_return answers;
  }
  /// The lines of a list of queries; none if it says None.
  static std::vector<std::string> read_queries(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      const std::string_view query = rag::strip(line);
      if (!query.empty() && rag::normalise(query) != "none") lines.emplace_back(query);
    }
    return lines;
  }
  static Passages all_documents(const State& state) {
    Passages all;
    for (const rag::Segment* segment : state.transcript().segments())
      if (segment->documents()) all.insert(all.end(), segment->documents()->begin(), segment->documents()->end());
    return all;
  }

  rag::Environment loop_;
  AirOptions options_;
};

}  // namespace espalier::method
