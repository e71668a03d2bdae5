#pragma once

#include <espalier/core/tree.hpp>
#include <espalier/search/detail/children.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace espalier::detail {

/// A node of Layered whose children are being grown.
struct LayeredGrowth : Parent {
  /// Before the first stage.
  LayeredGrowth(auto& env, const auto& tree, NodeId node, Seed seed) : Parent{node, seed} {
    for (const Kind kind : env.kinds(tree.state(node))) kinds.push_back(kind);
  }
  std::vector<Kind> kinds{};
  std::size_t stage = 0;

  [[nodiscard]] bool unfinished() const { return stage < kinds.size(); }
  /// True if a stage after this one draws the kind.
  [[nodiscard]] bool draws_later(Kind kind) const {
    return unfinished() && std::find(kinds.begin() + std::ptrdiff_t(stage) + 1, kinds.end(), kind) != kinds.end();
  }
  /// The number of samples of the stage's kind that earlier stages drew.
  [[nodiscard]] std::uint32_t drawn(const auto& tree, std::uint32_t width) const {
    double share = 0;
    for (const auto& [child, child_seed] : children)
      if (tree[child].kind == kinds[stage]) share += static_cast<double>(tree[child].prior);
    return static_cast<std::uint32_t>(std::lround(share * width));
  }
  /// Enough is known: the kinds after this stage's are not drawn.
  void skip_rest(auto& tree) {
    for (std::size_t i = stage + 1; i < kinds.size(); ++i) tree.skips.push_back({node, kinds[i]});
    kinds.resize(std::min(kinds.size(), stage + 1));
  }
};

/// Adds the proposal's share to an equal child of an earlier stage. False if there is no such child.
bool merged(auto& tree, const Parent& parent, const auto& proposal) {
  if (proposal.closed != Reason::none) return false;
  for (const auto& [child, seed] : parent.children) {
    if (tree[child].kind != proposal.kind || closed_at_birth(tree[child]) || !(tree.action(child) == proposal.action))
      continue;
    tree[child].prior += proposal.prior;
    return true;
  }
  return false;
}

/// Cuts the children that no budget is left to value. Terminal ones stay, because they cost nothing. A tree without any
/// value keeps the likeliest child, so that it ends with an answer.
void hold_back(auto& env, auto& tree, const std::vector<LayeredGrowth>& frontier) {
  std::vector<NodeId> waiting;
  bool valued = false;
  for (NodeId id = 0; id < tree.size(); ++id) valued |= tree[id].evaluated;
  for (const LayeredGrowth& growth : frontier)
    for (const auto& [id, seed] : growth.children) {
      if (tree[id].status != Status::open || tree[id].evaluated) continue;
      if (std::ranges::empty(env.kinds(tree.state(id)))) valued = true;
      else waiting.push_back(id);
    }
  const auto likelier = [&](NodeId a, NodeId b) { return tree[a].prior < tree[b].prior; };
  const auto kept = valued ? waiting.end() : std::max_element(waiting.begin(), waiting.end(), likelier);
  for (auto id = waiting.begin(); id != waiting.end(); ++id)
    if (id != kept) tree.prune(*id, Reason::budget);
  if (!waiting.empty()) tree.ending = SearchFacts::Ending::budget;
}

}  // namespace espalier::detail
