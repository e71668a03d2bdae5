#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/evaluation.hpp>
#include <espalier/search/detail/pruning.hpp>

#include <utility>

namespace espalier::detail {

/// Ends a tree whose values were entered at their nodes alone.
template <class Tree>
void finish(Tree& tree) {
  Budget::end(tree);
  sum_up(tree);
}

/// How an engine is called. `Engine` has `grow(env, root, seed)`, a coroutine, and takes the environment by its
/// address.
template <class Engine, class Evaluate, class Prune>
class TreeSearch {
 public:
  template <class Env>
  using TreeOf = TreeBy<Evaluate, Env>;

  /// Grows one tree. The environment and this engine must outlive the task.
  template <Environment Env>
    requires Evaluator<Evaluate, Env> && PruningPolicy<Prune, TreeOf<Env>>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    static_assert(ErasedPruning<Prune> || !PrunesWhenDone<Prune, TreeOf<Env>>,
                  "only Layered asks a pruning policy to `keep`");
    return static_cast<Engine*>(this)->grow(&env, std::move(root), seed);
  }
};

/// Values nothing. For searches that only follow a policy.
struct NoValue {
  template <class Env>
  bool wants(Env&, const typename Env::State&) const {
    return false;
  }
  template <class Env>
  double operator()(Env&, const typename Env::State&) const {
    return 0;
  }
};

}  // namespace espalier::detail
