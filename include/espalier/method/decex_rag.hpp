#pragma once

#include <espalier/method/decex_options.hpp>
#include <espalier/method/decex_prompts.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/search/layered.hpp>

#include <array>
#include <optional>
#include <utility>
#include <vector>

/// DecEx-RAG (arXiv 2510.05691): greedy layer-by-layer search over decisions (stop or go on; own knowledge or retrieval)
/// and their executions (answer, sub-question, own answer, query), each execution valued by rollouts (Eq. 1).
namespace espalier::method {

/// The environment of the tree: a layer is a round. Before the first round a sub-question is drawn; later the termination
/// prompt decides between an answer and the next sub-question; an open sub-question is settled from memory or by search;
/// after T_max rounds the answer is forced.
class DecExEnvironment {
 public:
  using State = rag::State;
  using Action = rag::Action;
  static constexpr Kind answer = static_cast<Kind>(rag::SegmentKind::answer);
  static constexpr Kind sub_question = static_cast<Kind>(rag::SegmentKind::sub_question);
  static constexpr Kind own_answer = static_cast<Kind>(rag::SegmentKind::own_answer);
  static constexpr Kind query = static_cast<Kind>(rag::SegmentKind::query);
  static constexpr Kind decide = 16;  ///< draws answers and sub-questions
  static constexpr Kind force = 17;   ///< draws answers

  DecExEnvironment(rag::Environment loop, std::uint32_t k, std::uint32_t t_max) : loop_(std::move(loop)), k_(k), t_max_(t_max) {}

  [[nodiscard]] std::span<const Kind> kinds(const State& s) const {
    static constexpr std::array<Kind, 2> deciding{decide, sub_question}, settling{own_answer, query};
    static constexpr std::array<Kind, 1> first{sub_question}, last{force};
    if (s.answer()) return {};
    if (s.open_sub_question()) return settling;
    if (s.iterations() >= t_max_) return last;
    return s.iterations() == 0 ? std::span<const Kind>(first) : deciding;
  }

  Task<std::vector<Proposal<Action>>> propose(State s, Kind kind, std::uint32_t n, Context context) const {
    using rag::SegmentKind;
    if (kind == own_answer || kind == query) {
      std::vector<std::pair<std::string, rag::Rendering>> slots;
      slots.emplace_back("question", rag::render_text(*s.open_sub_question()));
      const char* purpose = kind == query ? "sub_query" : "own_answer";
      return loop_.draw(purpose, std::move(slots), n, context, static_cast<SegmentKind>(kind));
    }
    auto slots = loop_.slots(s.view());
    if (kind == force) return loop_.draw("forced_answer", std::move(slots), n, context, SegmentKind::answer, true);
    if (kind == decide) return loop_.draw("termination", std::move(slots), n, context, SegmentKind::answer);
    if (s.iterations() == 0) return loop_.draw("sub_question", std::move(slots), n, context, SegmentKind::sub_question);
    return more_questions(std::move(slots), n, context.from(k_ + context.first));
  }

  Task<State> step(State s, Action a, Context context) const { return loop_.step(std::move(s), std::move(a), context); }

 private:
  /// Sub-questions that the decision did not give: the termination prompt again, its answers left aside.
  Task<std::vector<Proposal<Action>>> more_questions(std::vector<std::pair<std::string, rag::Rendering>> slots, std::uint32_t n, Context context) const {
    auto proposals = co_await loop_.draw("termination", std::move(slots), n, context, rag::SegmentKind::answer);
    std::erase_if(proposals, [](const auto& p) { return p.kind != sub_question; });
    co_return proposals;
  }

  rag::Environment loop_;
  std::uint32_t k_, t_max_;
};

/// Which decisions are cut before their executions are valued.
struct DecExFilter {
  DecExOptions options;
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    using Termination = DecExOptions::Termination;
    if (options.search != DecExOptions::Search::pruned || options.termination == Termination::mean_f1) return {};
    Verdict verdict = Vote(DecExEnvironment::answer)(tree, siblings);
    if (verdict.enough && options.termination == Termination::vote_and_f1) return {};
    return verdict;
  }
};

/// Which decisions are cut, and which are not even expanded, once values are known.
struct DecExDecide {
  DecExOptions options;
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    using Termination = DecExOptions::Termination;
    const auto any = [&](Kind kind) { return std::any_of(siblings.begin(), siblings.end(), [&](NodeId id) { return tree[id].kind == kind; }); };
    if (options.search != DecExOptions::Search::pruned || siblings.empty() || tree.action(siblings.front()).forced) return {};
    if (any(DecExEnvironment::answer))
      return options.termination == Termination::vote ? Verdict() : ThresholdSkip(DecExEnvironment::answer, options.threshold, ThresholdSkip::Of::mean)(tree, siblings);
    const bool all_valued = std::all_of(siblings.begin(), siblings.end(), [&](NodeId id) { return tree[id].evaluated; });
    if (options.always_expand_both && !(all_valued && any(DecExEnvironment::query))) return {};
    Verdict verdict = ThresholdSkip(DecExEnvironment::own_answer, options.threshold, ThresholdSkip::Of::best)(tree, siblings);
    if (!verdict.enough && options.compare_across) verdict.cut.clear();
    return verdict;
  }
};

/// Which executions go on to the next layer.
struct DecExKeep {
  DecExOptions::Search search;
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    if (search == DecExOptions::Search::full_node) return {};
    if (search == DecExOptions::Search::no_pruning) return BestOfEachKind()(tree, siblings);
    return TopK(1)(tree, siblings);
  }
};

/// Rollouts in the policy loop; in Full-Node search answers alone have a value.
template <class Reward>
struct DecExValue : Rollout<Reward, rag::Environment> {
  DecExValue(const DecExOptions& options, Reward reward, rag::Environment loop)
      : Rollout<Reward, rag::Environment>({.n = options.n, .max_steps = options.rollout_rounds + 1}, std::move(reward), std::move(loop)),
        answers_only(options.search == DecExOptions::Search::full_node) {}
  bool answers_only;
  bool wants(const DecExEnvironment& env, const rag::State& s) const { return !answers_only || env.kinds(s).empty(); }
};

/// DecEx-RAG's search with a reward over terminal states.
template <class Reward>
class DecExRag {
 public:
  DecExRag(const DecExOptions& options, const rag::Environment& loop, Reward reward)
      : environment_(loop, options.k, options.T_max),
        engine_({.width = options.k, .budget = options.budget},
                DecExValue<Reward>(checked(options), std::move(reward), loop), DecExFilter{options}, DecExDecide{options}, DecExKeep{options.search}) {}

  /// Grows the tree of one question. This object must outlive the task.
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    return engine_(environment_, std::move(root), seed);
  }

 private:
  DecExEnvironment environment_;
  Layered<DecExValue<Reward>, DecExFilter, DecExDecide, DecExKeep> engine_;
};

}  // namespace espalier::method
