#pragma once

#include <espalier/method/air_options.hpp>
#include <espalier/method/air_prompts.hpp>
#include <espalier/rag/environment.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
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

  /// Legal actions, first the one that a simulation takes.
  [[nodiscard]] std::vector<Kind> kinds(const State& state) const {
    std::vector<Kind> legal = legal_actions(state);
    if (options_.simulation == AirOptions::Simulation::descent && legal.size() == 2 && lot(state)) std::swap(legal[0], legal[1]);
    return legal;
  }

  /// n samples of an action, without those that the node has already, up to its own number.
  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) const {
    n = std::min(n, samples(kind) - std::min(samples(kind), context.first));
    if (n == 0) return as_task(std::vector<Proposal<Action>>());
    return draw(this, std::move(state), kind, n, std::move(context));
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
  [[nodiscard]] std::vector<Kind> legal_actions(const State& state) const {
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
    return transforms && p.retrievals < options_.max_pairs ? std::vector<Kind>{qt, sa} : std::vector<Kind>{sa};
  }

  /// A bit that is drawn for each path by its words.
  static bool lot(const State& state) {
    Hasher words;
    words.add(state.question().id);
    for (const rag::Segment* segment : state.transcript().segments())
      if (!segment->documents()) words.add(segment->words());
    return Random(Seed(words.finish().low)).below(2) == 1;
  }

  [[nodiscard]] std::uint32_t samples(Kind kind) const {
    switch (kind) {
      case say: return options_.n_say;
      case da: return options_.n_da;
      case ra: return options_.n_ra;
      case qt: return options_.n_qt;
      default: return options_.n_sa;
    }
  }
  static Task<std::vector<Proposal<Action>>> draw(const AirEnvironment* self, State state, Kind kind, std::uint32_t n, Context context) {
    using Says = rag::SegmentKind;
    const rag::Environment& loop = self->loop_;
    const Progress p = self->progress(state);
    const std::string query = p.queries.empty() ? std::string("(none)") : p.queries.front();
    auto slots = loop.slots(state.view());
    slots.emplace_back("query", rag::render_text(query));
    if (kind == say) co_return co_await loop.draw("say", std::move(slots), n, context, Says::queries);
    if (kind == da) {
      const auto says = self->options_.da_terminal ? Says::answer : Says::own_answer;
      co_return co_await loop.draw("da", std::move(slots), n, context, says);
    }
    std::shared_ptr<const Passages> found;
    if (kind == ra) found = std::make_shared<const Passages>(co_await loop.find(query, context));
    slots.emplace_back("documents", rag::render_documents(found ? *found : all_documents(state), *air_protocol()));
    if (kind == qt) co_return co_await loop.draw("qt", std::move(slots), n, context, Says::queries);
    if (kind == sa) co_return co_await loop.draw("sa", std::move(slots), n, context);
    auto answers = co_await loop.draw("ra", std::move(slots), n, context, Says::sub_answer);
    for (auto& one : answers) one.action.found = found;
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
  /// What all retrievals on a path found, each passage once.
  static Passages all_documents(const State& state) {
    Passages all;
    std::set<std::string> seen;
    for (const rag::Segment* segment : state.transcript().segments())
      if (segment->documents())
        for (const Passage& passage : *segment->documents())
          if (seen.insert(passage.id()).second) all.push_back(passage);
    return all;
  }

  rag::Environment loop_;
  AirOptions options_;
};

}  // namespace espalier::method
