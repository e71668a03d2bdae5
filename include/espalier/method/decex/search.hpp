#pragma once

#include <espalier/method/decex/options.hpp>
#include <espalier/method/decex/prompts.hpp>
#include <espalier/policy/contest.hpp>
#include <espalier/policy/moments.hpp>
#include <espalier/policy/prune.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search/layered.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// DecEx-RAG (arXiv 2510.05691): greedy layer-by-layer search over decisions (to stop, to retrieve) and their
/// executions (answer, sub-question, own answer, query). Executions are valued by rollouts (Eq. 1).
namespace espalier::method {

namespace detail {

/// The environment of the tree, with one layer per round. The first round draws a sub-question. In later rounds the
/// termination prompt decides between an answer and the next sub-question. An open sub-question is answered from memory
/// or by a search. After T_max rounds the answer is forced.
///
/// In the form `policy`, every round draws the policy's own next steps. Answers are the decision to stop, queries the
/// decision to go on. What the policy knows by heart stands in its thought, so there is no decision to retrieve. The
/// first n steps drawn at a node are the first steps of the rollouts that valued it: they have the same seeds.
class DecExRagEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  static constexpr Kind answer = static_cast<Kind>(rag::SegmentKind::answer);
  static constexpr Kind sub_question = static_cast<Kind>(rag::SegmentKind::sub_question);
  static constexpr Kind own_answer = static_cast<Kind>(rag::SegmentKind::own_answer);
  static constexpr Kind query = static_cast<Kind>(rag::SegmentKind::query);
  static constexpr Kind decide = 16;  ///< draws answers and sub-questions
  static constexpr Kind force = 17;   ///< draws answers

  DecExRagEnvironment(rag::Environment loop, const DecExRagOptions& options)
      : loop_(std::move(loop)),
        refusals_(options.refusals),
        k_(options.k),
        t_max_(options.T_max),
        own_steps_(options.form == DecExRagOptions::Form::policy),
        pruned_(options.search == DecExRagOptions::Search::pruned) {}

  [[nodiscard]] std::span<const Kind> kinds(const State& s) const {
    static constexpr std::array<Kind, 2> deciding{decide, sub_question}, settling{own_answer, query},
        stepping{decide, query};
    static constexpr std::array<Kind, 1> first{sub_question}, last{force};
    if (s.answer()) return {};
    if (s.open_sub_question()) return settling;
    if (s.iterations() >= t_max_) return last;
    if (own_steps_) return stepping;
    return s.iterations() == 0 ? std::span<const Kind>(first) : deciding;
  }

  template <class = void>
  Task<std::vector<Proposal<Action>>> propose(State s, Kind kind, std::uint32_t n, Context context) const {
    using rag::SegmentKind;
    if (s.open_sub_question()) {
      rag::PromptSet::Slots slots;
      slots.emplace_back("question", rag::render_text(*s.open_sub_question()));
      if (kind == own_answer) return memories(std::move(slots), n, context);
      return loop_.draw("sub_query", std::move(slots), n, context, SegmentKind::query);
    }
    auto slots = loop_.slots(s.view());
    if (kind == force) return loop_.draw("forced_answer", std::move(slots), n, context, SegmentKind::answer, true);
    if (kind == decide) return loop_.draw(decision(), std::move(slots), n, context);
    if (own_steps_) return more(kind, std::move(slots), n, context);
    if (s.iterations() == 0) return loop_.draw("sub_question", std::move(slots), n, context, SegmentKind::sub_question);
    if (pruned_ && context.first == 0)
      return loop_.draw("next_question", std::move(slots), n, context, SegmentKind::sub_question);
    return more(kind, std::move(slots), n, context);
  }

  template <class = void>
  Task<State> step(State s, Action a, Context context) const {
    return loop_.step(std::move(s), std::move(a), context);
  }

 private:
  /// Answers from memory. A refusal is no knowledge and is closed.
  template <class = void>
  Task<std::vector<Proposal<Action>>> memories(rag::PromptSet::Slots slots, std::uint32_t n, Context context) const {
    auto proposals = co_await loop_.draw("own_answer", std::move(slots), n, context, rag::SegmentKind::own_answer);
    (*context.ledger)["own_answer"].refused += refusals_.close(proposals, rag::SegmentKind::own_answer);
    co_return proposals;
  }
  /// Draws more of a kind (sub-questions, or queries of the policy) than the decision gave, by its prompt. (Where the
  /// decision gave no sub-question, the pruned search asks for one instead, because its answers may have been cut.)
  template <class = void>
  Task<std::vector<Proposal<Action>>> more(Kind kind, rag::PromptSet::Slots slots, std::uint32_t n,
                                           Context context) const {
    auto proposals = co_await loop_.draw(decision(), std::move(slots), n, context.from(k_ + context.first));
    std::erase_if(proposals, [kind](const auto& p) { return p.kind != kind; });
    co_return proposals;
  }
  [[nodiscard]] const char* decision() const { return own_steps_ ? "rollout" : "termination"; }

  rag::Environment loop_;
  rag::Refusals refusals_;
  std::uint32_t k_, t_max_;
  bool own_steps_, pruned_;
};

/// Cuts decisions before their executions are valued. An unpruned answer with a value has won an earlier vote.
struct DecExRagVote {
  std::shared_ptr<const DecExRagOptions> options;
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    using Termination = DecExRagOptions::Termination;
    constexpr Kind answer = DecExRagEnvironment::answer;
    if (options->search != DecExRagOptions::Search::pruned || options->termination == Termination::mean_f1) return {};
    const bool decided = std::any_of(siblings.begin(), siblings.end(),
                                     [&](NodeId id) { return tree[id].kind == answer && tree[id].evaluated; });
    if (decided && options->termination == Termination::vote_and_f1) return {};
    Verdict verdict =
        decided ? Verdict() : Vote(answer, options->vote_over == DecExRagOptions::VoteOver::all)(tree, siblings);
    if (decided)
      for (const NodeId id : siblings)
        if (tree[id].kind != answer) verdict.cut.emplace_back(id, Reason::outvoted);
    if (verdict.enough && options->termination == Termination::vote_and_f1) return {};
    verdict.enough &= !options->stop_pairs;
    return verdict;
  }
};

/// Cuts decisions once values are known, and skips those not expanded yet.
struct DecExRagThreshold {
  static constexpr bool sees_all = true;
  std::shared_ptr<const DecExRagOptions> options;
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    using Termination = DecExRagOptions::Termination;
    const auto any = [&](Kind kind) {
      return std::any_of(siblings.begin(), siblings.end(), [&](NodeId id) { return tree[id].kind == kind; });
    };
    if (options->search != DecExRagOptions::Search::pruned || tree.action(siblings.front()).forced) return {};
    if (any(DecExRagEnvironment::answer)) {
      if (options->termination == Termination::vote) return {};
      const ThresholdSkip enough(DecExRagEnvironment::answer, options->threshold, ThresholdSkip::Of::mean);
      Verdict verdict = enough(tree, siblings);
      verdict.enough &= !options->stop_pairs;
      return verdict;
    }
    const bool all_valued = std::ranges::all_of(siblings, [&](NodeId id) { return tree[id].evaluated; });
    if (options->always_expand_both && !(all_valued && any(DecExRagEnvironment::query))) return {};
    Verdict verdict =
        ThresholdSkip(DecExRagEnvironment::own_answer, options->threshold, ThresholdSkip::Of::best)(tree, siblings);
    if (!verdict.enough && options->compare_across) verdict.cut.clear();
    return verdict;
  }
};

/// Chooses the executions that go on to the next layer.
struct DecExRagSurvivors {
  DecExRagOptions::Search search;
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    if (search == DecExRagOptions::Search::full_node) return {};
    if (search == DecExRagOptions::Search::no_pruning) return BestOfEachKind()(tree, siblings);
    return TopK(1)(tree, siblings);
  }
};

/// Section 2.2: a vote decides to stop, values to retrieve, and the best execution goes on. The user's policy is last.
inline auto pruning(const std::shared_ptr<const DecExRagOptions>& options) {
  return AllOf(Before(DecExRagVote{options}), DecExRagThreshold{options}, Keep(DecExRagSurvivors{options->search}),
               options->prune);
}

/// Rollouts in the policy loop. In Full-Node search only answers have a value.
struct DecExRagValue : Rollout<rag::AnyReward, rag::Environment> {
  DecExRagValue(std::shared_ptr<const DecExRagOptions> own, rag::AnyReward reward, rag::Environment loop)
      : Rollout({.n = own->n, .max_steps = own->rollout_rounds + 1}, std::move(reward), std::move(loop)),
        options(std::move(own)) {}
  std::shared_ptr<const DecExRagOptions> options;
  [[nodiscard]] bool answers_only() const { return options->search == DecExRagOptions::Search::full_node; }
  /// The number of rollouts that may be curtailed, 0 = none.
  [[nodiscard]] std::uint32_t curtails() const {
    return options->curtail == DecExRagOptions::Curtail::none || answers_only() ? 0 : options->n;
  }
  /// The rule of a contest among candidates of one kind. Own answers are also compared with the threshold.
  [[nodiscard]] espalier::detail::AnyContestRule rule(Kind kind) const {
    std::optional<double> threshold;
    if (kind == DecExRagEnvironment::own_answer && options->search == DecExRagOptions::Search::pruned)
      threshold = options->threshold;
    if (options->curtail == DecExRagOptions::Curtail::halving) return Halving(threshold);
    return Curtailment(threshold);
  }
  bool wants(const DecExRagEnvironment& env, const rag::State& s) const {
    return !answers_only() || env.kinds(s).empty();
  }
};

}  // namespace detail

/// DecEx-RAG's search with a reward over terminal states.
class DecExRag {
 public:
  DecExRag(const DecExRagOptions& options, const rag::Environment& loop, rag::AnyReward reward)
      : DecExRag(loop, std::make_shared<const DecExRagOptions>(detail::checked(options)), std::move(reward)) {}

  /// Grows the tree of one question. This object must outlive the task.
  template <class = void>
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    return engine_(environment_, root, Seed(run_seed, root.question().id));
  }

 private:
  DecExRag(const rag::Environment& loop, const std::shared_ptr<const DecExRagOptions>& options, rag::AnyReward reward)
      : environment_(loop, *options),
        engine_({.width = options->k, .value_losing = options->stop_pairs, .budget = options->budget},
                detail::DecExRagValue(options, std::move(reward), loop), detail::pruning(options)) {
    if (options->compare_across && options->curtail != DecExRagOptions::Curtail::none)
      bad_option("compare_across", "true", "false with curtail");
  }

  detail::DecExRagEnvironment environment_;
  Layered<detail::DecExRagValue, decltype(detail::pruning({}))> engine_;
};

}  // namespace espalier::method
