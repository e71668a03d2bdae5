#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/tree.hpp>

namespace espalier {

/// Enters the value at the leaf and every ancestor: the mean of what passed through each node.
struct MeanBackup {
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, const typename Tree::Value& value) const {
    for (NodeId id = leaf; id != no_node; id = tree[id].parent) {
      tree[id].total += value;
      ++tree[id].visits;
    }
  }
};

/// Enters the value at the leaf alone: for engines that look at new nodes only and sum_up() once, so that a deep tree costs
/// no more than a broad one.
struct LeafBackup {
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, const typename Tree::Value& value) const {
    tree[leaf].total += value;
    ++tree[leaf].visits;
  }
};

/// Gives every node what was entered below it: after LeafBackup, the sums and visits that MeanBackup would have made.
template <class Tree>
void sum_up(Tree& tree) {
  for (auto id = static_cast<NodeId>(tree.size()); --id > 0;) {
    tree[tree[id].parent].total += tree[id].total;
    tree[tree[id].parent].visits += tree[id].visits;
  }
}

/// The mean with the value discounted once an edge: gamma^d for the ancestor d edges up (ProRAG, Eq. 3).
class DiscountedBackup {
 public:
  struct Options {
    double gamma = 0.99;  ///< (0, 1]
  };
  DiscountedBackup() = default;
  explicit DiscountedBackup(Options options) : options_(options) {
    if (!(options_.gamma > 0 && options_.gamma <= 1)) bad_option("gamma", options_.gamma, "(0, 1]");
  }
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, typename Tree::Value value) const {
    for (NodeId id = leaf; id != no_node; id = tree[id].parent) {
      tree[id].total += value;
      ++tree[id].visits;
      value = value * options_.gamma;
    }
  }

 private:
  Options options_;
};

}  // namespace espalier
