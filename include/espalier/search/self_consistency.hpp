#pragma once

#include <espalier/core/detail/ballot.hpp>
#include <espalier/search/policy_loop.hpp>
#include <espalier/search/trajectories.hpp>

#include <string>
#include <utility>

namespace espalier {

namespace detail {

/// The first terminal node with the most frequent answer. Of equally frequent answers, the one given first wins.
/// no_node if there is none. key(state) -> text: equal for answers that say the same, empty for no answer.
template <class Tree, class Key>
NodeId agreed_end(const Tree& tree, const Key& key) {
  Ballot<NodeId> ballot;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree[id].status != Status::terminal) continue;
    std::string answer = key(tree.state(id));
    if (!answer.empty()) ballot.vote(std::move(answer), id);
  }
  return ballot.winner(no_node);
}

}  // namespace detail

/// Self-consistency (Wang et al. 2023): N whole paths of the policy, side by side. The first end with the most frequent
/// answer gets the annotation "selected". Nothing is valued.
template <class Key>
class SelfConsistency {
 public:
  using Options = Trajectories<detail::NoValue>::Options;
  SelfConsistency(Options options, Key key) : paths_(std::move(options), detail::NoValue()), key_(std::move(key)) {}

  template <class Env>
  using TreeOf = Trajectories<detail::NoValue>::TreeOf<Env>;

  /// Grows one tree. The environment and this engine must outlive the task.
  template <Environment Env>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    return choose(paths_(env, std::move(root), seed), &key_);
  }

 private:
  template <class Tree>
  static Task<Tree> choose(Task<Tree> paths, const Key* key) {
    Tree tree = co_await std::move(paths);
    if (const NodeId best = detail::agreed_end(tree, *key); best != no_node) tree.annotate("selected", best, 1);
    co_return tree;
  }
  Trajectories<detail::NoValue> paths_;
  Key key_;
};

}  // namespace espalier
