#pragma once

#include <espalier/search/detail/tree_search.hpp>
#include <espalier/search/trajectories.hpp>

#include <utility>

namespace espalier {

/// Best of N: N whole paths of the policy, side by side. The end of highest value, the oldest of equals, gets the
/// annotation "selected", if any has a value and was not cut. The pruning policy is asked as by Trajectories.
template <class Evaluate, class Prune = KeepAll>
class BestOfN : public detail::TreeSearch<BestOfN<Evaluate, Prune>, Evaluate, Prune> {
 public:
  using Options = typename Trajectories<Evaluate, Prune>::Options;
  BestOfN(Options options, Evaluate evaluate, Prune prune = Prune())
      : paths_(std::move(options), std::move(evaluate), std::move(prune)) {}

 private:
  friend detail::TreeSearch<BestOfN, Evaluate, Prune>;

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    auto tree = co_await paths_(*env, std::move(root), seed);
    NodeId best = no_node;
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree[id].status == Status::terminal && tree[id].evaluated)
        if (best == no_node || utility(tree[id].mean()) > utility(tree[best].mean())) best = id;
    if (best != no_node) tree.annotate("selected", best, 1);
    co_return tree;
  }
  Trajectories<Evaluate, Prune> paths_;
};

}  // namespace espalier
