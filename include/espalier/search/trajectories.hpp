#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/tree_search.hpp>
#include <espalier/search/rollout.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace espalier {

/// Independent trajectories of a policy from one state: a group for advantages, or the N of best-of-N. Each is its own
/// chain under the root, even if others are equal. All advance side by side, and only their ends are evaluated. Where
/// the budget cannot pay for a step of all of them, the first ones alone go on.
template <class Evaluate>
class Trajectories : public detail::TreeSearch<Trajectories<Evaluate>, Evaluate> {
 public:
  struct Options {
    std::uint32_t n = 8;           ///< number of trajectories, > 0
    Budget budget{};               ///< checked before each step of all trajectories
    std::uint32_t step_calls = 0;  ///< completions for each step, asked after the search. The budget keeps them
  };
  Trajectories(Options options, Evaluate evaluate) : options_(std::move(options)), evaluate_(std::move(evaluate)) {
    if (options_.n == 0) bad_option("n", options_.n, "1 or more");
    options_.budget.check();
  }

 private:
  friend detail::TreeSearch<Trajectories, Evaluate>;

  /// The current end of a trajectory.
  struct Place {
    NodeId node = 0;
    Seed seed{};
    std::uint32_t sample = 0;  ///< sample index of the first step, which all draw from one prompt
  };

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    detail::TreeBy<Evaluate, Env> tree(std::move(root), seed);
    const double began = options_.budget.start(tree);
    std::vector<Place> ends;
    for (std::uint32_t i = 0; i < options_.n; ++i) ends.push_back({tree.root(), seed, i});
    while (true) {
      for (const Place& end : ends)
        if (std::ranges::empty(env->kinds(tree.state(end.node)))) tree[end.node].status = Status::terminal;
      std::erase_if(ends, [&](const Place& end) { return tree[end.node].status != Status::open; });
      if (ends.empty()) break;
      if (options_.budget.spent(tree, tree.steps, began)) {
        tree.ending = SearchFacts::Ending::budget;
        break;
      }
      const std::uint64_t paid = steps_left(tree);
      if (paid < ends.size()) tree.ending = SearchFacts::Ending::budget;
      if (paid == 0) break;
      if (paid < ends.size()) ends.resize(paid);
      ++tree.steps;
      co_await step(env, &tree, &ends);
    }
    co_await value(env, &tree);
    detail::finish(tree);
    co_return tree;
  }

  /// How many more steps the budget pays for, besides what is kept back for those that were made.
  template <class Tree>
  [[nodiscard]] std::uint64_t steps_left(const Tree& tree) const {
    Ledger::Costs all = Budget::costs(tree);
    all.completions += (tree.size() - 1) * options_.step_calls;
    return options_.budget.calls_left(all) / (1 + options_.step_calls);
  }
  /// Makes one step of all trajectories. A reply is drawn again from what they all leave of the budget.
  template <class Env, class Tree>
  Task<void> step(Env* env, Tree* tree, std::vector<Place>* ends) {
    using State = typename Env::State;
    const std::size_t kept = ends->size() - 1 + (tree->size() - 1 + ends->size()) * options_.step_calls;
    std::vector<Task<detail::proposals_t<Env>>> asked;
    for (const Place& end : *ends) {
      const State& from = tree->state(end.node);
      const auto kinds = env->kinds(from);
      const Kind kind = *std::ranges::begin(kinds);
      const Context context(end.seed, end.sample, &tree->ledger, kept);
      asked.push_back(detail::as_task(detail::propose(*env, from, kind, 1u, context)));
    }
    auto drawn = co_await gather(std::move(asked));
    std::vector<Task<State>> steps;
    for (std::size_t i = 0; i < ends->size(); ++i) {
      Place& end = (*ends)[i];
      const State& from = tree->state(end.node);
      end.seed = end.seed.child(end.sample);
      end.sample = 0;
      const Context context(end.seed, 0, &tree->ledger);
      if (drawn[i].empty() || drawn[i].front().closed != Reason::none) steps.push_back(detail::as_task(State(from)));
      else steps.push_back(detail::as_task(detail::step(*env, from, drawn[i].front().action, context)));
    }
    std::vector<State> states = co_await gather(std::move(steps));
    for (std::size_t i = 0; i < ends->size(); ++i) {
      Place& end = (*ends)[i];
      (*tree)[end.node].status = Status::expanded;
      if (drawn[i].empty()) continue;
      auto& proposal = drawn[i].front();
      const float share = end.node == tree->root() ? 1 / static_cast<float>(options_.n) : 1;
      end.node = tree->add(end.node, std::move(proposal.action), std::move(states[i]), proposal.kind, share);
      if (proposal.closed != Reason::none) tree->prune(end.node, proposal.closed);
    }
  }

  template <class Env, class Tree>
  Task<void> value(Env* env, Tree* tree) {
    std::vector<NodeId> nodes;
    std::vector<Task<detail::evaluation_t<Evaluate, Env>>> tasks;
    for (NodeId id = 0; id < tree->size(); ++id) {
      if ((*tree)[id].status != Status::terminal) continue;
      const Context context(tree->seed.child(id), 0, &tree->ledger);
      nodes.push_back(id);
      tasks.push_back(detail::as_task(detail::evaluate(evaluate_, *env, tree->state(id), context)));
    }
    auto results = co_await gather(std::move(tasks));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      detail::enter_evaluation(*tree, nodes[i], std::move(results[i]), detail::LeafBackup());
  }

  Options options_;
  Evaluate evaluate_;
};

}  // namespace espalier
