#pragma once

#include <espalier/method/airrag/detail/allowance.hpp>
#include <espalier/method/airrag/detail/environment.hpp>
#include <espalier/method/airrag/options.hpp>
#include <espalier/method/detail/agreement.hpp>
#include <espalier/method/detail/evidence.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/environment.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// Adds the steps of a simulation as nodes, unless they are in the tree already. Returns the last one.
inline NodeId add_path(rag::Tree& tree, const rag::Environment& loop, NodeId from, const rag::State& end) {
  rag::State state = tree.state(from);
  std::string thought;
  for (const rag::Segment* segment : end.transcript().since(tree.state(from).transcript())) {
    state = state.with(*segment);
    if (segment->kind() == rag::SegmentKind::thought) thought = segment->words();
    if (segment->documents() || segment->kind() == rag::SegmentKind::query ||
        segment->kind() == rag::SegmentKind::thought)
      continue;
    rag::Action action(segment->kind(), segment->words(), std::exchange(thought, ""), loop.key(segment->words()));
    const auto children = tree.children(from);
    const auto same = std::ranges::find_if(
        children, [&](NodeId id) { return tree[id].status != Status::pruned && tree.action(id) == action; });
    if (same != children.end()) state = tree.state(from = *same);
    else {
      const auto kind = static_cast<Kind>(action.kind);
      from = tree.add(from, std::move(action), state, kind, 1);
      tree[from].status = Status::expanded;
    }
  }
  return from;
}

/// Adds the steps of all simulations as nodes. Equal sequences of steps are added once. Each end with an answer gets
/// the annotation "candidate" = 1, 2 ... in the order in which simulations reached it, then the others.
inline void add_candidates(rag::Tree& tree, const rag::Environment& loop) {
  double candidates = 0;
  const auto enter = [&](NodeId id) {
    if (tree[id].status == Status::pruned || !tree.state(id).answer()) return;
    tree[id].status = Status::terminal;
    if (std::isnan(tree.annotation("candidate", id))) tree.annotate("candidate", id, ++candidates);
  };
  for (const auto& rollout : tree.rollouts) enter(detail::add_path(tree, loop, rollout.node, rollout.state));
  for (NodeId id = 1; id < tree.size(); ++id) enter(id);
}
/// The candidates in that order, then the ends that joined the tree later.
inline std::vector<NodeId> candidates_of(const rag::Tree& tree) {
  std::vector<NodeId> candidates = output::complete_chains(tree);
  const auto place = [&](NodeId id) {
    const double noted = tree.annotation("candidate", id);
    return std::isnan(noted) ? HUGE_VAL : noted;
  };
  std::stable_sort(candidates.begin(), candidates.end(), [&](NodeId a, NodeId b) { return place(a) < place(b); });
  return candidates;
}

/// Scores complete paths with the prompt "process_reward". The model is a process reward model or a language model.
class AirRagJudge {
 public:
  explicit AirRagJudge(rag::Environment loop) : loop_(std::move(loop)) {}

  /// [0, 1], or nothing if the reply is not a score.
  template <class = void>
  Task<std::optional<double>> operator()(rag::State end, Context context) const {
    auto slots = loop_.slots(end.view());
    slots.emplace_back("step", rag::render_text(*end.answer()));
    const auto samples = co_await loop_.sampler().draw("process_reward", std::move(slots), 1, std::move(context));
    const auto& reply = samples.front().reply;
    if (!reply) co_return std::nullopt;
    co_return reply->scores.front();
  }
  /// Annotates the ends of all complete chains with "process_reward", as far as they can be scored.
  template <class = void>
  Task<void> annotate(rag::Tree* tree) const {
    const std::vector<NodeId> ends = output::complete_chains(*tree);
    std::vector<Task<std::optional<double>>> asked;
    for (const NodeId end : ends)
      asked.push_back((*this)(tree->state(end), Context(tree->seed.child(end), 0, &tree->ledger)));
    const auto scores = co_await gather(std::move(asked));
    tree->annotations.erase("process_reward");
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (scores[i]) tree->annotate("process_reward", ends[i], *scores[i]);
  }

 private:
  rag::Environment loop_;
};

/// Chooses a tree's answer among its candidates (AirRAG, section 3.3) and annotates it with "selected".
class AirRagChoice {
 public:
  AirRagChoice(AirRagOptions::Choice choice, rag::Environment loop, std::optional<EncoderPort> encoder)
      : choice_(choice), loop_(std::move(loop)), judge_(loop_), encoder_(std::move(encoder)) {
    if (choice_ == AirRagOptions::Choice::embedding && !encoder_)
      bad_option("choice", "embedding", "another choice where there is no encoder");
  }

  /// True if the choice asks a language model.
  [[nodiscard]] bool asks() const {
    return choice_ == AirRagOptions::Choice::refine || choice_ == AirRagOptions::Choice::reward_model;
  }
  /// True if the budget pays for what the choice asks.
  [[nodiscard]] bool affordable(const rag::Tree& tree, const Budget& budget) const {
    const std::vector<NodeId> candidates = candidates_of(tree);
    std::uint32_t retrievals = 0;
    for (const NodeId id : candidates) retrievals += tree.state(id).retrievals();
    const bool once = choice_ == AirRagOptions::Choice::refine;
    const auto each = static_cast<std::uint32_t>(candidates.size());
    return !asks() || Allowance(budget, tree.ledger, tree.state(tree.root()).spent_before())
                          .affords(once ? 1 : each, once ? retrievals : 1);
  }
  /// Where the choice needs a model but `may_ask` is false, it compares candidates by words.
  template <class = void>
  Task<void> operator()(rag::Tree* tree, bool may_ask) const {
    const std::vector<NodeId> candidates = candidates_of(*tree);
    tree->annotations.erase("selected");
    if (candidates.empty()) co_return;
    const auto how = asks() && !may_ask ? AirRagOptions::Choice::jaccard : choice_;
    if (how == AirRagOptions::Choice::refine) co_return co_await refine(tree, candidates);
    std::vector<std::string> answers;
    for (const NodeId id : candidates) answers.push_back(*tree->state(id).answer());
    std::vector<double> scores;
    if (how == AirRagOptions::Choice::jaccard) scores = agreement_scores<std::string>(answers, jaccard);
    else {
      if (how == AirRagOptions::Choice::embedding) co_await annotate_agreement(*encoder_, tree);
      else co_await judge_.annotate(tree);
      const char* name = how == AirRagOptions::Choice::embedding ? "embedding" : "process_reward";
      for (const NodeId id : candidates) scores.push_back(tree->annotation(name, id));
      for (double& score : scores)
        if (std::isnan(score)) score = -2;  // a candidate without a readable score loses to all others
    }
    tree->annotate("selected", candidates[first_best(scores)], 1);
  }

 private:
  /// One summary over all candidates, their histories and their documents (A5), added as its own branch.
  template <class = void>
  Task<void> refine(rag::Tree* tree, std::vector<NodeId> candidates) const {
    const Protocol& protocol = *loop_.sampler().prompts().protocol();
    rag::Rendering list, histories;
    Passages documents;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const rag::State& end = tree->state(candidates[i]);
      list.text += "- ";
      list.add("candidate", *end.answer());
      list.text += '\n';
      histories.text += "Attempt " + std::to_string(i + 1) + '\n';
      histories.add(rag::render_history(end.transcript(), protocol));
      documents = evidence(end, std::move(documents));
    }
    const rag::State& root = tree->state(tree->root());
    rag::PromptSet::Slots slots;
    slots.emplace_back("question", rag::render_text(root.question().text));
    slots.emplace_back("candidates", std::move(list));
    slots.emplace_back("history", std::move(histories));
    slots.emplace_back("documents", rag::render_documents(documents, protocol));
    const Context context(tree->seed.purpose("refine"), 0, &tree->ledger);
    auto drawn = co_await loop_.draw("refine", std::move(slots), 1, context);
    const NodeId id = add_answer(*tree, tree->root(), std::move(drawn.front()));
    if (id != no_node) tree->annotate("selected", id, 1);
  }

  AirRagOptions::Choice choice_;
  rag::Environment loop_;
  AirRagJudge judge_;
  std::optional<EncoderPort> encoder_;
};

}  // namespace espalier::method::detail
