#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/contest.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/rollout.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Children of one node and of one kind whose values are compared.
struct Contest {
  std::vector<Seeded> children{};
  AnyContestRule rule{};
};

/// The rollouts of one contest.
template <class State>
class ContestRollouts {
  using Ends = std::vector<std::pair<State, double>>;

 public:
  ContestRollouts(const auto& tree, Contest contest, std::uint32_t n) : rule_(std::move(contest.rule)), n_(n) {
    const auto before = [&](const Seeded& a, const Seeded& b) { return tree[a.node].prior > tree[b.node].prior; };
    for (const Seeded& child : contest.children)  // by age
      children_.insert(std::upper_bound(children_.begin(), children_.end(), child, before), child);
    tallies_.resize(children_.size(), Tally{0, 0, n});
    ends_.resize(children_.size());
  }

  /// Draws rounds of rollouts until the contest is over.
  Task<void> run(auto* env, auto* evaluate, auto* tree, Context start) {
    for (;;) {
      const ContestRound round = rule_(tallies_);
      out_ = round.out;
      if (round.over()) co_return;
      std::vector<Task<Ends>> tasks;
      std::vector<std::size_t> drawing;
      for (std::size_t i = 0; i < children_.size(); ++i) {
        if (round.draws[i] == 0) continue;
        const auto& [child, seed] = children_[i];
        const Context context = start.under(seed).from(n_ - tallies_[i].left);
        tasks.push_back(evaluate->some(*env, tree->state(child), context, round.draws[i]));
        drawing.push_back(i);
      }
      std::vector<Ends> ends = co_await gather(std::move(tasks));
      for (std::size_t j = 0; j < drawing.size(); ++j) take(drawing[j], round.draws[drawing[j]], std::move(ends[j]));
    }
  }
  /// Enters the values of the children, if one of their rollouts could be read or none is left, and prunes those that
  /// are out. The annotation "unread_rollouts" is how many could not be read.
  void enter(auto& tree) {
    std::vector<std::size_t> order;
    const auto before = [&](std::size_t a, std::size_t b) { return children_[a].node < children_[b].node; };
    for (std::size_t i = 0; i < children_.size(); ++i)
      order.insert(std::upper_bound(order.begin(), order.end(), i, before), i);
    for (const std::size_t i : order) {
      const NodeId child = children_[i].node;
      if (tallies_[i].unread > 0) tree.annotate("unread_rollouts", child, tallies_[i].unread);
      if (tallies_[i].read > 0 || tallies_[i].left == 0) {
        Evaluation<State, double> evaluation(tallies_[i].sum);
        evaluation.known = tallies_[i].known();
        if (evaluation.known) evaluation.value /= static_cast<double>(tallies_[i].read);
        evaluation.terminals = std::move(ends_[i]);
        enter_evaluation(tree, child, std::move(evaluation), LeafBackup());
      }
      if (out_[i] && tree[child].status == Status::open) tree.prune(child, Reason::not_best);
    }
  }

 private:
  /// Counts rollouts of child i. Those without an end could not be read.
  void take(std::size_t i, std::uint32_t drawn, Ends ends) {
    Tally& tally = tallies_[i];
    tally.left -= drawn;
    tally.unread += drawn - static_cast<std::uint32_t>(ends.size());
    for (auto& [state, reward] : ends) {
      if (!(reward >= 0 && reward <= 1))
        throw Error("a reward of " + std::to_string(reward) + ": option 'curtail' needs rewards from 0 to 1");
      tally.sum += reward;
      ++tally.read;
      ends_[i].emplace_back(std::move(state), reward);
    }
  }

  AnyContestRule rule_;
  std::uint32_t n_;
  std::vector<Seeded> children_;  ///< in the order in which equal means rank
  std::vector<Tally> tallies_;
  std::vector<bool> out_;
  std::vector<Ends> ends_;
};

/// Values children by rollouts that are drawn in rounds, until the rule of their contest has chosen one. `evaluate` has
/// some(env, state, context, count) of Rollout, which draws the rollouts from context.first on. A child that cannot be
/// chosen is pruned as not the best. Rounds of one contest follow one another, and contests do not wait for each other.
template <class Env, class Evaluate, class Tree>
Task<void> hold_contests(Env* env, Evaluate* evaluate, Tree* tree, std::vector<Contest> contests, std::uint32_t n) {
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
