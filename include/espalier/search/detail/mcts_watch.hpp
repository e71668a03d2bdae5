#pragma once

#include <espalier/policy/stop_rules.hpp>
#include <espalier/search/detail/mcts_descent.hpp>

#include <type_traits>
#include <utility>

namespace espalier::detail {

/// Watches one tree grow. Says when its search is over and records why.
template <class Stop>
class Watch {
 public:
  template <class Tree>
  Watch(const MctsOptions& options, const Stop& stop, Tree& tree)
      : options_(&options),
        stop_(stop),
        idle_(!options.budget.limited() && !options.solve && never_stops),
        began_(options.budget.start(tree)) {
    tree.ending = SearchFacts::Ending::done;
  }
  /// Asked before each simulation: true if the search is over.
  template <class Tree>
  bool over(Tree& tree) {
    if (idle_) return false;
    if (stopped_ || tree[tree.root()].solved) return true;
    if (!options_->budget.limited() || !options_->budget.spent(tree, tree.steps, began_)) return false;
    tree.ending = SearchFacts::Ending::budget;
    return true;
  }
  /// Called after each merged simulation with the node where it ended. A stop rule must know which values are final.
  template <class Env, class Tree>
  void merged(Env& env, Tree& tree, const Place& end) {
    if (never_stops && !options_->solve) return;
    settle_kind(*options_, env, tree, end);
    if (options_->solve) mark_solved(tree, end.node);
    if (stop_(std::as_const(tree), end.node)) stopped_ = true;
  }

 private:
  static constexpr bool never_stops = std::is_same_v<Stop, NeverStop>;
  const MctsOptions* options_;
  Stop stop_;
  bool idle_, stopped_ = false;
  double began_;
};

}  // namespace espalier::detail
