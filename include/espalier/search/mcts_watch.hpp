#pragma once

#include <espalier/policy/converge.hpp>
#include <espalier/search/mcts_descent.hpp>

#include <type_traits>
#include <utility>

namespace espalier::detail {

/// Watches one tree grow: says when its search is over, and notes why.
template <class Stop>
class Watch {
 public:
  template <class Tree>
  Watch(const MctsOptions& options, const Stop& stop, Tree& tree)
      : options_(&options),
        stop_(stop),
        idle_(!options.budget.limited() && !options.solve && std::is_same_v<Stop, NeverStop>),
        began_(options.budget.now()) {
    tree.ending = Ending::done;
  }
  /// Before a simulation: whether there is to be none.
  template <class Tree>
  bool over(Tree& tree) {
    if (idle_) return false;
    if (stopped_ || tree[tree.root()].solved) return true;
    if (!options_->budget.limited() || !options_->budget.spent(tree.ledger, tree.steps, began_)) return false;
    tree.ending = Ending::budget;
    return true;
  }
  /// After a simulation that valued this node was merged.
  template <class Tree>
  void merged(Tree& tree, NodeId node) {
    if (idle_) return;
    if (options_->solve) mark_solved(tree, node);
    if (stop_(std::as_const(tree), node)) stopped_ = true;
  }

 private:
  const MctsOptions* options_;
  Stop stop_;
  bool idle_, stopped_ = false;
  double began_;
};

}  // namespace espalier::detail
