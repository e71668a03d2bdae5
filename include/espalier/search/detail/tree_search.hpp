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
void finish(auto& tree) {
  Budget::end(tree);
  sum_up(tree);
}

/// How an engine with a coroutine `grow(env, root, seed)` is called. `keeps`: it asks a pruning policy to `keep`.
template <class Engine, class Evaluate, class Prune, bool keeps = false>
class TreeSearch {
 public:
  template <class Env>
  using TreeOf = TreeBy<Evaluate, Env>;

  /// Grows one tree. The environment and this engine must outlive the task.
  template <GrownBy<Evaluate, Prune> Env>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    constexpr bool asked = keeps || ErasedPruning<Prune> || !PrunesWhenDone<Prune, TreeOf<Env>>;
    static_assert(asked, "only Layered asks a pruning policy to `keep`");
    if constexpr (!asked) return as_task(TreeOf<Env>());
    else return static_cast<Engine*>(this)->grow(&env, std::move(root), seed);
  }
  /// Grows the same tree in one plain call, where environment and evaluator await nothing.
  template <GrownBy<Evaluate, Prune> Env>
    requires PlainEvaluator<Evaluate, Env>
  TreeOf<Env> search(Env& env, typename Env::State root, Seed seed) {
    return run_plain((*this)(env, std::move(root), seed));
  }

  template <class Env, class... More>
    requires(!GrownBy<Env, Evaluate, Prune>)
  auto operator()(Env&, More&&...) {
    return as_task(misfit<Env, Evaluate, Prune>());
  }
  template <class Env, class... More>
    requires(!GrownBy<Env, Evaluate, Prune> || !PlainEvaluator<Evaluate, Env>)
  auto search(Env&, More&&...) {
    return misfit<Env, Evaluate, Prune>();
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
