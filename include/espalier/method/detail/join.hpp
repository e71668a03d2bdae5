#pragma once

#include <espalier/core/tree.hpp>

#include <algorithm>
#include <limits>

namespace espalier::detail {

/// Copies another tree's branches under this tree's root, after its own branches, with everything recorded for them.
/// Costs add up. Both trees must start from the same state. Returns the offset from an id of the other tree to its id
/// here. The two roots become one.
template <class State, class Action, class Value>
NodeId join(Tree<State, Action, Value>& tree, const Tree<State, Action, Value>& other) {
  using T = Tree<State, Action, Value>;
  const auto offset = static_cast<NodeId>(tree.size() - 1);
  const auto here = [&](NodeId id) { return id == T::root() ? T::root() : id + offset; };
  for (NodeId id = 1; id < other.size(); ++id) {
    const auto& node = other[id];
    const NodeId copy = tree.add(here(node.parent), other.action(id), other.state(id), node.kind, node.prior);
    auto& mine = tree[copy];
    mine.total = node.total;
    take_findings(mine, node);
  }
  tree[T::root()].total += other[T::root()].total;
  tree[T::root()].visits += other[T::root()].visits;
  for (const auto& rollout : other.rollouts)
    tree.rollouts.push_back({here(rollout.node), rollout.state, rollout.value});
  for (const SearchFacts::Skip& skip : other.skips) tree.skips.push_back({here(skip.node), skip.kind});
  for (const auto& [name, numbers] : other.annotations)
    for (NodeId id = 1; id < numbers.size(); ++id)
      if (numbers[id] == numbers[id]) tree.annotate(name, here(id), numbers[id]);
  for (const SearchFacts::Remark& remark : other.remarks)
    tree.remarks.push_back({remark.name, here(remark.node), remark.text});
  tree.ledger += other.ledger;
  for (const auto& [name, costs] : other.annotation_costs) tree.annotation_costs[name] += costs;
  tree.steps += other.steps;
  tree.choices += other.choices;
  tree.explored += other.explored;
  tree.lowest = std::min(tree.lowest, other.lowest);
  tree.highest = std::max(tree.highest, other.highest);
  return offset;
}

}  // namespace espalier::detail
