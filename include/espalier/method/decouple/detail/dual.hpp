#pragma once

#include <espalier/rag/state.hpp>
#include <espalier/search/budget.hpp>

#include <array>
#include <string>
#include <utility>

namespace espalier::method::detail {

/// DecoupleRAG's two values of a step, each in [-1, 1]: the quality of its plan and of its search. Searches are guided
/// by the second (Eq. 3).
struct Dual {
  double plan = 0, search = 0;
  Dual& operator+=(const Dual& o) {
    plan += o.plan;
    search += o.search;
    return *this;
  }
  friend Dual operator*(Dual v, double factor) { return {v.plan * factor, v.search * factor}; }
  friend double utility(const Dual& value) { return value.search; }
  /// Its parts for people.
  friend std::array<std::pair<const char*, double>, 2> parts(const Dual& value) {
    return {{{"plan", value.plan}, {"search", value.search}}};
  }
};

using DualTree = Tree<rag::State, rag::Action, Dual>;

/// The tree with search values as its values and mean plan values as the annotation "plan".
inline rag::Tree to_rag_tree(DualTree&& tree) {
  rag::Tree out(std::move(tree.state(0)), tree.seed);
  out.reserve(tree.size());
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto& from = tree[id];
    if (id > 0) out.add(from.parent, tree.action(id), std::move(tree.state(id)), from.kind, from.prior);
    auto& to = out[id];
    to.total = from.total.search;
    espalier::detail::take_findings(to, from);
    if (from.visits > 0) out.annotate("plan", id, from.mean().plan);
  }
  for (auto& rollout : tree.rollouts)
    out.rollouts.push_back({rollout.node, std::move(rollout.state), rollout.value.search});
  out.skips = std::move(tree.skips);
  static_cast<SearchFacts&>(out) = std::move(tree);
  return out;
}

/// A budget whose `watch` is shown the trees of this search as ordinary trees.
inline Budget showing_rag_trees(Budget budget) {
  if (budget.watch)
    budget.watch = [watch = std::move(budget.watch)](const SearchFacts& tree) {
      watch(to_rag_tree(DualTree(static_cast<const DualTree&>(tree))));
    };
  return budget;
}

}  // namespace espalier::method::detail
