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

/// The same with the value discounted once an edge: gamma^d for the ancestor d edges up (ProRAG, Eq. 3).
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
