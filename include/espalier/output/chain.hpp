#pragma once

#include <espalier/core/seed.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/rag/metrics.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

/// A question's answer as its tree gives it.
struct ChosenAnswer {
  NodeId node = no_node;  ///< the terminal node, or the one whose rollouts answered
  std::string text;
  double value = 0;       ///< its reward
  bool complete = false;  ///< false: taken from rollouts, because no chain came to its end
};

/// The ends of complete chains, in order of creation.
inline std::vector<NodeId> complete_chains(const rag::Tree& tree) {
  std::vector<NodeId> ends;
  for (NodeId id = 1; id < tree.size(); ++id)
    if (tree[id].status == Status::terminal && tree.state(id).answer()) ends.push_back(id);
  return ends;
}

/// The answer with the highest reward among complete chains (ties: higher prior, then older). If there is none, the most
/// frequent answer among the rollouts of the best node that has any. Nothing if the tree holds no answer at all.
inline std::optional<ChosenAnswer> best_answer(const rag::Tree& tree) {
  const auto own = rewards(tree);
  const auto goes_before = [&](NodeId a, NodeId b) {
    const double va = own[a].value_or(0), vb = own[b].value_or(0);
    if (va != vb) return va > vb;
    return tree[a].prior != tree[b].prior ? tree[a].prior > tree[b].prior : a < b;
  };
  const std::vector<NodeId> ends = complete_chains(tree);
  if (!ends.empty()) {
    const NodeId best = *std::min_element(ends.begin(), ends.end(), goes_before);
    return ChosenAnswer{best, *tree.state(best).answer(), own[best].value_or(0), true};
  }
  NodeId best = no_node;
  for (const auto& rollout : tree.rollouts)
    if (rollout.state.answer() && (best == no_node || goes_before(rollout.node, best))) best = rollout.node;
  if (best == no_node) return std::nullopt;
  std::map<std::string, std::size_t> votes;
  for (const auto& rollout : tree.rollouts)
    if (rollout.node == best && rollout.state.answer()) ++votes[rag::normalise(*rollout.state.answer())];
  const rag::State* chosen = nullptr;
  for (const auto& rollout : tree.rollouts) {
    if (rollout.node != best || !rollout.state.answer()) continue;
    if (!chosen || votes[rag::normalise(*rollout.state.answer())] > votes[rag::normalise(*chosen->answer())]) chosen = &rollout.state;
  }
  return ChosenAnswer{best, *chosen->answer(), own[best].value_or(0), false};
}

/// Which of a question's correct chains becomes training data, by the number of its retrievals (DecEx-RAG, Fig. 2a).
enum class ChainChoice : std::uint8_t { best, most, least, random };

/// The chain of that choice among those whose answer is correct (exact match); nothing if none is. `random` is drawn by the
/// tree's seed; ties go to the better reward, then the older chain.
inline std::optional<NodeId> correct_chain(const rag::Tree& tree, ChainChoice choice) {
  std::vector<NodeId> correct;
  for (NodeId id : complete_chains(tree))
    if (tree.state(id).has_gold() && rag::score(rag::Profile::common, tree.state(id).answer(), tree.state(id).gold()).em == 1) correct.push_back(id);
  if (correct.empty()) return std::nullopt;
  if (choice == ChainChoice::random) return correct[Random(tree.seed.purpose("chain")).below(static_cast<std::uint32_t>(correct.size()))];
  const auto own = rewards(tree);
  return *std::min_element(correct.begin(), correct.end(), [&](NodeId a, NodeId b) {
    const auto ra = tree.state(a).retrievals(), rb = tree.state(b).retrievals();
    if (choice != ChainChoice::best && ra != rb) return choice == ChainChoice::most ? ra > rb : ra < rb;
    if (own[a].value_or(0) != own[b].value_or(0)) return own[a].value_or(0) > own[b].value_or(0);
    return a < b;
  });
}

}  // namespace espalier::output
