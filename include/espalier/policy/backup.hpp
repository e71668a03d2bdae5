#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/tree.hpp>

namespace espalier {

/// Adds the value at the leaf and at all its ancestors. A node's value is then the mean of what passed through it.
struct MeanBackup {
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, const typename Tree::Value& value) const {
    for (NodeId id = leaf; id != no_node; id = tree[id].parent) {
      tree[id].total += value;
      ++tree[id].visits;
    }
  }
};

namespace detail {

/// Adds the value at the leaf only. Engines that look only at new nodes use it, and call sum_up() once at the end.
struct LeafBackup {
  template <class Tree>
  void operator()(Tree& tree, NodeId leaf, const typename Tree::Value& value) const {
    tree[leaf].total += value;
    ++tree[leaf].visits;
  }
};

/// Adds to every node what was entered below it. After LeafBackup this gives the sums and visits of MeanBackup.
void sum_up(auto& tree) {
  for (auto id = static_cast<NodeId>(tree.size()); --id > 0;) {
    tree[tree[id].parent].total += tree[id].total;
    tree[tree[id].parent].visits += tree[id].visits;
  }
}

}  // namespace detail

/// The mean with a discount for each edge: an ancestor d edges up gets gamma^d times the value (ProRAG, Eq. 3).
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
