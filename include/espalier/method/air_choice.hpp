#pragma once

#include <espalier/method/air_judge.hpp>
#include <espalier/method/air_options.hpp>
#include <espalier/method/answer_agreement.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method {

namespace detail {

/// Makes the steps of a simulation nodes, unless they are some already; returns its last.
inline NodeId add_path(rag::Tree& tree, const rag::Environment& loop, NodeId from, const rag::State& end) {
  rag::State state = tree.state(from);
  std::string thought;
  for (const rag::Segment* segment : end.transcript().since(tree.state(from).transcript())) {
    state = state.with(*segment);
    if (segment->kind() == rag::SegmentKind::thought) thought = segment->words();
    if (segment->documents() || segment->kind() == rag::SegmentKind::query || segment->kind() == rag::SegmentKind::thought) continue;
    rag::Action action(segment->kind(), segment->words(), std::exchange(thought, ""), loop.key(segment->words()));
    const auto children = tree.children(from);
    const auto same = std::find_if(children.begin(), children.end(), [&](NodeId id) { return tree[id].status != Status::pruned && tree.action(id) == action; });
    if (same != children.end()) state = tree.state(from = *same);
    else {
      const auto kind = static_cast<Kind>(action.kind);
      from = tree.add(from, std::move(action), state, kind, 1);
      tree[from].status = Status::expanded;
    }
  }
  return from;
}

}  // namespace detail

/// Makes the steps of all simulations nodes, equal sequences of steps once, and annotates all ends that hold an answer with
/// their place in the order in which simulations came to them, "candidate" = 1, 2 ...; ends that none came to follow.
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
/// Those, and after them the ends that joined the tree later.
inline std::vector<NodeId> candidates_of(const rag::Tree& tree) {
  std::vector<NodeId> candidates = output::complete_chains(tree);
  const auto place = [&](NodeId id) {
    const double noted = tree.annotation("candidate", id);
    return std::isnan(noted) ? HUGE_VAL : noted;
  };
  std::stable_sort(candidates.begin(), candidates.end(), [&](NodeId a, NodeId b) { return place(a) < place(b); });
  return candidates;
}

/// Chooses a tree's answer among its candidates (AirRAG, section 3.3) and marks it "selected".
class AirChoice {
 public:
  AirChoice(AirOptions::Select select, rag::Environment loop, std::optional<EncoderPort> encoder)
      : select_(select), loop_(std::move(loop)), judge_(loop_), encoder_(std::move(encoder)) {
    if (select_ == AirOptions::Select::embedding && !encoder_) bad_option("select", "embedding", "another choice where there is no encoder");
  }

  /// Whether the choice asks a language model.
  [[nodiscard]] bool asks() const { return select_ == AirOptions::Select::refine || select_ == AirOptions::Select::reward_model; }
  /// Where it would ask and may not, candidates are compared by words.
  Task<void> operator()(rag::Tree* tree, bool may_ask) const {
    const std::vector<NodeId> candidates = candidates_of(*tree);
    tree->annotations.erase("selected");
    if (candidates.empty()) co_return;
    const auto how = asks() && !may_ask ? AirOptions::Select::jaccard : select_;
    std::vector<std::string> answers;
    for (const NodeId id : candidates) answers.push_back(*tree->state(id).answer());
    if (how == AirOptions::Select::refine) {
      co_await refine(tree, std::move(answers));
      co_return;
    }
    std::vector<double> scores;
    if (how == AirOptions::Select::jaccard) scores = output::agreement_scores<std::string>(answers, output::jaccard);
    else {
      if (how == AirOptions::Select::embedding) co_await annotate_agreement(*encoder_, tree);
      else co_await judge_.annotate(tree);
      const char* name = how == AirOptions::Select::embedding ? "embedding" : "process_reward";
      for (const NodeId id : candidates) scores.push_back(tree->annotation(name, id));
      for (double& score : scores)
        if (std::isnan(score)) score = -2;  // one that cannot be read loses to all that can
    }
    tree->annotate("selected", candidates[output::first_best(scores)], 1);
  }

 private:
  /// One summary over all candidates, as a branch of its own.
  Task<void> refine(rag::Tree* tree, std::vector<std::string> answers) const {
    rag::Rendering list;
    for (const std::string& answer : answers) {
      list.text += "- ";
      list.add("candidate", answer);
      list.text += '\n';
    }
    const rag::State root = tree->state(tree->root());
    auto slots = loop_.slots(root.view());
    slots.emplace_back("candidates", std::move(list));
    const Context context(tree->seed.purpose("refine"), 0, &tree->ledger);
    auto drawn = co_await loop_.draw("refine", std::move(slots), 1, context);
    auto& refined = drawn.front();
    rag::State end = co_await loop_.step(root, refined.action, context);
    const NodeId id = tree->add(tree->root(), std::move(refined.action), std::move(end), refined.kind, 1);
    if (refined.closed != Reason::none) {
      tree->prune(id, refined.closed);
      co_return;
    }
    (*tree)[id].status = Status::terminal;
    tree->annotate("selected", id, 1);
  }

  AirOptions::Select select_;
  rag::Environment loop_;
  AirJudge judge_;
  std::optional<EncoderPort> encoder_;
};

}  // namespace espalier::method
