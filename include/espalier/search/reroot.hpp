#pragma once

#include <espalier/core/tree.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace espalier {

namespace detail {

/// The seed of a node: the tree's seed, derived along the child ordinals of the path.
template <class Tree>
Seed seed_of(const Tree& tree, NodeId node) {
  Seed seed = tree.seed;
  for (const NodeId id : tree.path(node)) {
    if (id == tree.root()) continue;
    std::uint64_t ordinal = 0;
    for (NodeId other = tree[tree[id].parent].first_child; other != id; other = tree[other].next_sibling) ++ordinal;
    seed = seed.child(ordinal);
  }
  return seed;
}

}  // namespace detail

/// The part of a tree below a node, as a tree of its own with that node as root. A search can go on with it after the
/// step to that node was taken, and draws what it would have drawn. Costs and counts of the whole search are kept.
/// Depth starts at 0 again. Ids keep their order. Throws Error if there is no such node.
template <class State, class Action, class Value>
Tree<State, Action, Value> rerooted(const Tree<State, Action, Value>& tree, NodeId root) {
  if (root >= tree.size()) throw Error("the tree has no node " + std::to_string(root));
  Tree<State, Action, Value> below(tree.state(root), detail::seed_of(tree, root));
  std::vector<NodeId> ids(tree.size(), no_node);
  const auto copy = [&](NodeId from, NodeId to) {
    ids[from] = to;
    const NodeId parent = below[to].parent;
    below[to] = tree[from];
    below[to].parent = parent;
    below[to].first_child = below[to].last_child = below[to].next_sibling = no_node;
  };
  copy(root, below.root());
  below[below.root()].kind = 0;
  below[below.root()].prior = 1;
  for (NodeId id = root + 1; id < tree.size(); ++id) {
    const auto& node = tree[id];
    if (ids[node.parent] != no_node)
      copy(id, below.add(ids[node.parent], tree.action(id), tree.state(id), node.kind, node.prior));
  }
  static_cast<SearchFacts&>(below) = tree;
  for (const auto& rollout : tree.rollouts)
    if (ids[rollout.node] != no_node) below.rollouts.push_back({ids[rollout.node], rollout.state, rollout.value});
  for (const SearchFacts::Skip& skip : tree.skips)
    if (ids[skip.node] != no_node) below.skips.push_back({ids[skip.node], skip.kind});
  for (const SearchFacts::Remark& remark : tree.remarks)
    if (ids[remark.node] != no_node) below.remarks.push_back({remark.name, ids[remark.node], remark.text});
  for (const auto& [name, numbers] : tree.annotations)
    for (NodeId id = root; id < numbers.size(); ++id)
      if (ids[id] != no_node) below.annotate(name, ids[id], numbers[id]);
  return below;
}

}  // namespace espalier
