#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/detail/pruning.hpp>
#include <espalier/search/detail/tree_search.hpp>

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace espalier {

/// Independent trajectories of a policy from one state: a group for advantages, or the N of best-of-N. Each is its own
/// chain under the root, even if others are equal. All advance side by side, and only their ends are evaluated. Where
/// the budget cannot pay for a step of all of them, the first ones alone go on. The pruning policy is asked once the
/// ends have values, about the children of each of their parents, in node order.
template <class Evaluate, class Prune = KeepAll>
class Trajectories : public detail::TreeSearch<Trajectories<Evaluate, Prune>, Evaluate, Prune> {
 public:
  struct Options {
    std::uint32_t n = 8;           ///< number of trajectories, > 0
    Budget budget{};               ///< checked before each step of all trajectories
    std::uint32_t step_calls = 0;  ///< completions for each step, asked after the search. The budget keeps them
  };
  Trajectories(Options options, Evaluate evaluate, Prune prune = Prune())
      : options_(std::move(options)), evaluate_(std::move(evaluate)), prune_(std::move(prune)) {
    if (options_.n == 0) bad_option("n", options_.n, "1 or more");
    detail::refuse(prune_, "Trajectories", true, true);
    options_.budget.check();
  }

 private:
  friend detail::TreeSearch<Trajectories, Evaluate, Prune>;

  using Parent = detail::Parent;  ///< the current end of a trajectory

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    constexpr bool asked = detail::ErasedPruning<Prune> || !detail::PrunesBefore<Prune, detail::TreeBy<Evaluate, Env>>;
    static_assert(asked, "Trajectories has no moment `before`");
    detail::TreeBy<Evaluate, Env> tree(std::move(root), seed);
    const double began = options_.budget.start(tree);
    std::vector<Parent> ends;
    for (std::uint32_t i = 0; i < options_.n; ++i) ends.push_back({tree.root(), seed, {}, i});
    while (true) {
      for (const Parent& end : ends)
        if (std::ranges::empty(env->kinds(tree.state(end.node)))) tree[end.node].status = Status::terminal;
      std::erase_if(ends, [&](const Parent& end) { return tree[end.node].status != Status::open; });
      if (ends.empty()) break;
      if (options_.budget.spent(tree, tree.steps, began)) {
        tree.ending = SearchFacts::Ending::budget;
        break;
      }
      Ledger::Costs costs = Budget::costs(tree);
      costs.completions += (tree.size() - 1) * options_.step_calls;  // kept back for the steps that were made
      const std::uint64_t paid = options_.budget.calls_left(costs) / (1 + options_.step_calls);
      if (paid < ends.size()) tree.ending = SearchFacts::Ending::budget;
      if (paid == 0) break;
      if (paid < ends.size()) ends.resize(paid);
      ++tree.steps;
      co_await step(env, &tree, &ends);
    }
    co_await value(env, &tree);
    for (NodeId id = 0; id < tree.size(); ++id) detail::prune(detail::at_values, prune_, tree, id, "Trajectories");
    detail::finish(tree);
    co_return tree;
  }

  /// One step of all trajectories, the first from one prompt. Unread replies are drawn again from what they all leave.
  Task<void> step(auto* env, auto* tree, std::vector<Parent>* ends) {
    const std::size_t kept = ends->size() - 1 + (tree->size() - 1 + ends->size()) * options_.step_calls;
    std::vector<detail::Ask> asks;
    for (Parent& end : *ends) {
      const auto kinds = env->kinds(tree->state(end.node));
      asks.push_back({&end, *std::ranges::begin(kinds), 1, static_cast<std::uint32_t>(end.next), kept});
    }
    const auto first = [tree, share = 1 / static_cast<float>(options_.n)](const detail::Ask& ask, auto proposals) {
      if (!proposals.empty()) proposals.erase(proposals.begin() + 1, proposals.end());
      for (auto& proposal : proposals) proposal.prior = ask.parent->node == tree->root() ? share : 1;
      return proposals;
    };
    co_await detail::add_children(env, tree, std::move(asks), first);
    for (Parent& end : *ends) {
      (*tree)[end.node].status = Status::expanded;
      if (!end.children.empty()) end = {end.children.back().node, end.children.back().seed};
    }
  }

  Task<void> value(auto* env, auto* tree) {
    std::vector<detail::Seeded> nodes;
    for (NodeId id = 0; id < tree->size(); ++id)
      if ((*tree)[id].status == Status::terminal) nodes.push_back({id, tree->seed.child(id)});
    return detail::value_nodes(&evaluate_, env, tree, std::move(nodes));
  }

  Options options_;
  Evaluate evaluate_;
  Prune prune_;
};

}  // namespace espalier
