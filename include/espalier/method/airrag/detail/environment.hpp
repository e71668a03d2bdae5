#pragma once

#include <espalier/method/airrag/detail/allowance.hpp>
#include <espalier/method/airrag/options.hpp>
#include <espalier/method/airrag/prompts.hpp>
#include <espalier/method/detail/evidence.hpp>
#include <espalier/rag/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// AirRAG's five actions, and when each is legal (section 3.1).
class AirRagEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  /// System analysis, direct answer, retrieval answer, query transformation, summary answer.
  enum : Kind { say = 16, da, ra, qt, sa };

  AirRagEnvironment(rag::Environment loop, const AirRagOptions& options)
      : loop_(loop.finding(documents(options, loop.documents()))), options_(options) {}

  /// Passages per retrieval. With L_max, as many as fit (Fig. 3): a path with m retrievals shows the passages of one
  /// retrieval m times in retrieval answers, m (m + 1) / 2 times in transformations and m times in its summary.
  static std::uint32_t documents(const AirRagOptions& o, std::uint32_t least) {
    if (o.budget.input_tokens == 0) return least;
    const std::uint64_t m = o.max_pairs, times = m + m * (m + 1) / 2 + m;
    const std::uint64_t paths = std::uint64_t(o.until_spent ? 1 : o.rollouts) * o.width();
    const std::uint64_t fit = o.budget.input_tokens / (times * paths * passage_tokens);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, least, std::max(least, most_documents)));
  }

  /// What has happened on a path.
  struct Progress {
    std::deque<std::string> queries;  ///< queries that wait for retrieval, at first the question itself
    std::uint32_t actions = 0, retrievals = 0, transformations = 0;
    rag::SegmentKind last = rag::SegmentKind::notice;  ///< what the last action added, a notice at the root
  };
  [[nodiscard]] Progress progress(const State& state) const {
    Progress p;
    std::set<std::string> answered;
    p.queries.push_back(state.question().text);
    for (const rag::Segment* segment : state.transcript().segments()) {
      const rag::SegmentKind kind = segment->kind();
      if (kind == rag::SegmentKind::query || kind == rag::SegmentKind::documents || kind == rag::SegmentKind::thought)
        continue;
      ++p.actions;
      p.last = kind;
      if (kind == rag::SegmentKind::sub_answer) {
        ++p.retrievals;
        if (p.queries.empty()) continue;
        answered.insert(rag::normalise(p.queries.front()));
        p.queries.pop_front();
      } else if (kind == rag::SegmentKind::queries) {
        p.transformations += options_.lite || p.actions > 1;
        const std::vector<std::string> lines = fresh_queries(segment->words(), answered);
        if (lines.empty()) continue;  // "None", or nothing new: the waiting queries stay
        if (!p.queries.empty()) p.queries.pop_front();
        p.queries.insert(p.queries.begin(), lines.begin(), lines.end());
        std::set<std::string> seen;  // of equal queries the first one waits
        std::erase_if(p.queries, [&](const std::string& query) { return !seen.insert(rag::normalise(query)).second; });
      }
    }
    return p;
  }

  /// Legal actions. A simulation takes the first one.
  [[nodiscard]] std::vector<Kind> kinds(const State& state) const {
    std::vector<Kind> legal = legal_actions(state);
    if (options_.simulation == AirRagOptions::Simulation::descent && legal.size() == 2 && lot(state))
      std::swap(legal[0], legal[1]);
    return legal;
  }

  /// n samples of an action, less those that the node already has. At most the action's own number.
  template <class = void>
  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) const {
    const std::uint32_t samples = how(kind).samples;
    n = std::min(n, samples - std::min(samples, context.first));
    if (n == 0) return espalier::detail::as_task(std::vector<Proposal<Action>>());
    context = Context(context.seed, context.first, context.ledger, ending() - (kind == sa));
    Left left;
    if (options_.budget.limited())
      left = std::make_shared<const Allowance>(options_.budget, *context.ledger, state.spent_before());
    return draw(this, std::move(state), kind, n, std::move(context), std::move(left));
  }

  template <class = void>
  Task<State> step(State state, Action action, Context context) const {
    if (action.found) {
      state = state.with(rag::Segment(rag::SegmentKind::query, rag::ModelText(progress(state).queries.front())));
      state = state.with(rag::Segment(*action.found));
    }
    return loop_.step(std::move(state), std::move(action), std::move(context));
  }

  [[nodiscard]] const rag::Environment& loop() const { return loop_; }
  /// The same environment for the steps of one simulation, each of which is one action.
  [[nodiscard]] AirRagEnvironment simulating() const {
    AirRagEnvironment other = *this;
    other.simulating_ = true;
    return other;
  }

 private:
  static constexpr Kind forced = sa + 1;                 ///< the summary that a budget forces
  static constexpr std::uint64_t passage_tokens = 130;   ///< of a passage of 100 words
  static constexpr std::uint32_t most_documents = 1000;  ///< per retrieval

  /// Calls that end a path: the summary, and its score where a model gives it.
  [[nodiscard]] std::uint32_t ending() const {
    return 1 + (options_.terminal_reward == AirRagOptions::TerminalReward::reward_model);
  }
  /// What may be spent when an action is proposed, null without a budget.
  using Left = std::shared_ptr<const Allowance>;
  using Slots = rag::PromptSet::Slots;

  /// How an action is drawn: its prompt, what its replies add, and the number of samples.
  struct Draw {
    const char* purpose;
    rag::SegmentKind adds;
    std::uint32_t samples;
  };
  [[nodiscard]] Draw how(Kind kind) const {
    using enum rag::SegmentKind;
    if (kind == say) return {"say", queries, options_.n_say};
    if (kind == da) return {"da", options_.da_terminal ? answer : own_answer, options_.n_da};
    if (kind == ra) return {"ra", sub_answer, options_.n_ra};
    if (kind == qt) return {"qt", queries, options_.n_qt};
    return {"sa", answer, options_.n_sa};
  }
  /// The query that waited longest.
  [[nodiscard]] std::string next_query(const State& state) const {
    const Progress p = progress(state);
    return p.queries.empty() ? "(none)" : p.queries.front();
  }
  [[nodiscard]] Slots slots(const State& state, const Passages& documents) const {
    Slots slots = loop_.slots(state.view());
    slots.emplace_back("query", rag::render_text(next_query(state)));
    slots.emplace_back("documents", rag::render_documents(documents, *loop_.sampler().prompts().protocol()));
    return slots;
  }
  [[nodiscard]] std::size_t bytes(Kind kind, const State& state, const Passages& documents) const {
    const auto body = loop_.sampler().prompts().render(how(kind).purpose, slots(state, documents), Sampling());
    return body->shown().size();
  }
  /// The costs of what ends a path: the summary, and its score.
  [[nodiscard]] Ledger::Costs ends(const State& state, const Allowance& left) const {
    const std::size_t shown = bytes(sa, state, evidence(state));
    Ledger::Costs all = left.calls(1, shown);
    all += left.calls(ending() - 1, "process_reward", shown);
    return all;
  }
  /// True if the budget pays for n samples of an action that shows these documents and for the end of the path after
  /// it. Where a node grows, it must also pay for the samples of the actions before this one.
  [[nodiscard]] bool affords(const State& state, Kind kind, std::uint32_t n, const Passages& documents,
                             const Left& left) const {
    if (!left) return true;
    Ledger::Costs more;
    for (const Kind each : simulating_ ? std::vector<Kind>() : kinds(state)) {
      if (each == kind) break;
      const std::size_t unfound = each == ra ? 4 * passage_tokens * loop_.documents() : 0;
      more += left->calls(how(each).samples, how(each).purpose, unfound + bytes(each, state, documents));
    }
    const std::size_t shown = bytes(kind, state, documents);
    more += left->calls(simulating_ ? n : how(kind).samples, shown);
    if (kind == sa) more += left->calls(ending() - 1, "process_reward", shown);
    else {
      State after = state;  // without the words of the reply
      if (kind == ra)
        after = state.with(rag::Segment(rag::SegmentKind::query, rag::ModelText(next_query(state))))
                    .with(rag::Segment(documents))
                    .with(rag::Segment(rag::SegmentKind::sub_answer, rag::ModelText("")));
      more += ends(after, *left);
      more.prompt_tokens += left->calls(1, 0).completion_tokens;
    }
    return left->affords(more);
  }
  /// True if the budget pays for a summary, or if nothing was answered yet: a question is never dropped.
  [[nodiscard]] bool may_end(const State& state, const Allowance& left) const {
    return left.affords(ends(state, left)) || !(left.made("sa") || (options_.da_terminal && left.made("da")));
  }
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

  /// A random bit per path, drawn from its words.
  static bool lot(const State& state) {
    Hasher words = Hasher().add(state.question().id);
    for (const auto* segment : state.transcript().segments())
      if (!segment->documents()) words.add(segment->words());
    return Random(Seed(words.finish().low)).below(2) == 1;
  }

  template <class = void>
  static Task<std::vector<Proposal<Action>>> draw(const AirRagEnvironment* self, State state, Kind kind,
                                                  std::uint32_t n, Context context, Left left) {
    const rag::Environment& loop = self->loop_;
    Passages documents = kind == ra ? Passages() : evidence(state);
    std::shared_ptr<const Passages> found;
    if (kind == ra && self->affords(state, ra, n, documents, left)) {
      const std::string query = self->next_query(state);
      found = std::make_shared<const Passages>(co_await loop.find(query, context));
      documents = *found;
    }
    if (!self->affords(state, kind, n, documents, left)) {
      context.ledger->refused = true;
      const bool first = self->simulating_ || self->kinds(state).front() == kind;
      if (!first || !self->may_end(state, *left)) co_return std::vector<Proposal<Action>>();
      n = 1;
      kind = forced;
      documents = evidence(state);
    }
    Slots slots = self->slots(state, documents);
    const Draw how = self->how(kind);
    auto drawn = co_await loop.draw(how.purpose, std::move(slots), n, context, how.adds, kind == forced);
    if (kind == ra)
      for (auto& one : drawn) one.action.found = found;
    co_return drawn;
  }
  rag::Environment loop_;
  AirRagOptions options_;
  bool simulating_ = false;
};

}  // namespace espalier::method::detail
