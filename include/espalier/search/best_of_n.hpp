#pragma once

#include <espalier/search/trajectories.hpp>

#include <utility>

namespace espalier {

namespace detail {

/// The terminal node of highest value, the oldest of equals. no_node if none has a value.
template <class Tree>
NodeId best_end(const Tree& tree) {
  NodeId best = no_node;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree[id].status == Status::terminal && tree[id].evaluated)
      if (best == no_node || utility(tree[id].mean()) > utility(tree[best].mean())) best = id;
  return best;
}

}  // namespace detail

/// Best of N: N whole paths of the policy, side by side. The end of highest value gets the annotation "selected".
template <class Evaluate>
class BestOfN {
 public:
  using Options = typename Trajectories<Evaluate>::Options;
  BestOfN(Options options, Evaluate evaluate) : paths_(std::move(options), std::move(evaluate)) {}

  template <class Env>
  using TreeOf = typename Trajectories<Evaluate>::template TreeOf<Env>;

  /// Grows one tree. The environment and this engine must outlive the task.
  template <Environment Env>
    requires Evaluator<Evaluate, Env>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    return choose(paths_(env, std::move(root), seed));
  }

 private:
  template <class Tree>
  static Task<Tree> choose(Task<Tree> paths) {
    Tree tree = co_await std::move(paths);
    if (const NodeId best = detail::best_end(tree); best != no_node) tree.annotate("selected", best, 1);
    co_return tree;
  }
  Trajectories<Evaluate> paths_;
};

}  // namespace espalier
