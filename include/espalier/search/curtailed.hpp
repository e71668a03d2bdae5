#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/curtailment.hpp>
#include <espalier/search/rollout.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Children of one node and of one kind whose values are compared.
struct Contest {
  std::vector<std::pair<NodeId, Seed>> children{};
  std::optional<double> threshold{};  ///< the best value is also compared with it
};

/// The rollouts of one contest.
template <class State>
class ContestRollouts {
  using Ends = std::vector<std::pair<State, double>>;

 public:
  template <class Tree>
  ContestRollouts(const Tree& tree, Contest contest, std::uint32_t n)
      : curtailment_(contest.threshold), n_(n), children_(std::move(contest.children)) {
    std::stable_sort(children_.begin(), children_.end(), [&](const auto& a, const auto& b) {
      return tree[a.first].prior > tree[b.first].prior;  // then by age, in which they stand
    });
    tallies_.resize(children_.size(), Tally{0, 0, n});
    next_.resize(children_.size(), Curtailment::Next::draw);
    ends_.resize(children_.size());
  }

  /// Draws rollouts until the contest is decided.
  template <class Env, class Evaluate, class Tree>
  Task<void> run(Env* env, Evaluate* evaluate, Tree* tree, Context start) {
    for (;;) {
      const std::optional<std::size_t> drawing = Curtailment::drawing(tallies_, next_);
      if (!drawing) co_return;
      const auto& [child, seed] = children_[*drawing];
      const Context context = start.under(seed).from(n_ - tallies_[*drawing].left);
      Ends ends = co_await evaluate->some(*env, tree->state(child), context, 1);
      take(*drawing, std::move(ends));
    }
  }
  /// Enters the values of the children that drew any, and prunes those that are out.
  template <class Tree>
  void enter(Tree& tree) {
    std::vector<std::size_t> order(children_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return children_[a].first < children_[b].first; });
    for (const std::size_t i : order) {
      const NodeId child = children_[i].first;
      if (tallies_[i].left < n_) {
        Evaluation<State, double> evaluation(tallies_[i].sum);
        evaluation.known = tallies_[i].known();
        if (evaluation.known) evaluation.value /= static_cast<double>(tallies_[i].read);
        evaluation.terminals = std::move(ends_[i]);
        enter_evaluation(tree, child, std::move(evaluation), LeafBackup());
      }
      if (next_[i] == Curtailment::Next::out && tree[child].status == Status::open) tree.prune(child, Reason::not_best);
    }
  }

 private:
  /// Counts a rollout of child i, and settles what can be settled.
  void take(std::size_t i, Ends ends) {
    Tally& tally = tallies_[i];
    --tally.left;
    for (auto& [state, reward] : ends) {
      if (!(reward >= 0 && reward <= 1))
        throw Error("a reward of " + std::to_string(reward) + ": option 'curtail' needs rewards from 0 to 1");
      tally.sum += reward;
      ++tally.read;
      ends_[i].emplace_back(std::move(state), reward);
    }
    next_ = curtailment_(tallies_);
  }

  Curtailment curtailment_;
  std::uint32_t n_;
  std::vector<std::pair<NodeId, Seed>> children_;  ///< in the order in which equal means rank
  std::vector<Tally> tallies_;
  std::vector<Curtailment::Next> next_;
  std::vector<Ends> ends_;
};

/// Values children by rollouts, one after another in a contest, and stops as soon as it is decided (see Curtailment).
/// `evaluate` has some(env, state, context, count) of Rollout, which draws the rollouts with the indices context.first
/// ... context.first + count - 1. A child that cannot win is pruned as not the best. Contests do not wait for each
/// other.
template <class Env, class Evaluate, class Tree>
Task<void> curtailed(Env* env, Evaluate* evaluate, Tree* tree, std::vector<Contest> contests, std::uint32_t n) {
  using Rollouts = ContestRollouts<typename Env::State>;
  std::vector<Rollouts> all;
  std::vector<Task<void>> tasks;
  for (Contest& contest : contests) all.emplace_back(*tree, std::move(contest), n);
  const Context start(tree->seed, 0, &tree->ledger);
  for (Rollouts& one : all) tasks.push_back(one.run(env, evaluate, tree, start));
  co_await gather(std::move(tasks));
  for (Rollouts& one : all) one.enter(*tree);
}

}  // namespace espalier::detail
