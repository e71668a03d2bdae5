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

namespace espalier {

/// Children of one node and of one kind whose values are compared.
struct Contest {
  std::vector<std::pair<NodeId, Seed>> children{};
  std::optional<double> threshold{};  ///< the best value is also compared with it
};

namespace detail {

/// The rollouts of one contest.
template <class State>
class ContestRollouts {
 public:
  using Ends = std::vector<std::pair<State, double>>;

  template <class Tree>
  ContestRollouts(const Tree& tree, Contest contest, std::uint32_t n)
      : curtailment_(n, contest.threshold), children_(std::move(contest.children)) {
    std::stable_sort(children_.begin(), children_.end(), [&](const auto& a, const auto& b) {
      return tree[a.first].prior > tree[b.first].prior;  // then by age, in which they stand
    });
    tallies_.resize(children_.size(), Tally{0, 0, n});
    next_.resize(children_.size(), Curtailment::Next::draw);
    ends_.resize(children_.size());
    chunk_ = curtailment_.first(children_.size());
  }

  /// Adds a task for each child whose rollouts go on.
  template <class Env, class Evaluate, class Tree>
  void draw(Env* env, Evaluate* evaluate, Tree* tree, std::vector<Task<Ends>>& tasks) {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (next_[i] != Curtailment::Next::draw) continue;
      const Context context(children_[i].second, drawn_, &tree->ledger);
      tasks.push_back(evaluate->some(*env, tree->state(children_[i].first), context, chunk_));
    }
  }
  /// Takes the results of these tasks in their order, and settles what can be settled.
  void take(typename std::vector<Ends>::iterator& result) {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (next_[i] != Curtailment::Next::draw) continue;
      tallies_[i].left -= chunk_;
      for (auto& [state, reward] : *result++) {
        if (!(reward >= 0 && reward <= 1))
          throw Error("a reward of " + std::to_string(reward) + ": option 'curtail' needs rewards from 0 to 1");
        tallies_[i].sum += reward;
        ++tallies_[i].read;
        ends_[i].emplace_back(std::move(state), reward);
      }
    }
    drawn_ += chunk_;
    chunk_ = 1;
    next_ = curtailment_(tallies_);
  }
  /// Enters the values, and prunes the children that are out.
  template <class Tree>
  void enter(Tree& tree) {
    std::vector<std::size_t> order(children_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return children_[a].first < children_[b].first; });
    for (const std::size_t i : order) {
      Evaluation<State, double> evaluation(tallies_[i].sum);
      evaluation.known = tallies_[i].known();
      if (evaluation.known) evaluation.value /= static_cast<double>(tallies_[i].read);
      evaluation.terminals = std::move(ends_[i]);
      const NodeId child = children_[i].first;
      enter_evaluation(tree, child, std::move(evaluation), LeafBackup());
      if (next_[i] == Curtailment::Next::out && tree[child].status == Status::open) tree.prune(child, Reason::not_best);
    }
  }

 private:
  Curtailment curtailment_;
  std::vector<std::pair<NodeId, Seed>> children_;  ///< in the order in which equal means rank
  std::vector<Tally> tallies_;
  std::vector<Curtailment::Next> next_;
  std::vector<Ends> ends_;
  std::uint32_t drawn_ = 0, chunk_ = 1;
};

}  // namespace detail

/// Values children by rollouts in the order of their index, and stops as soon as each contest is decided (see
/// Curtailment). `evaluate` has some(env, state, context, count) of Rollout, which draws the rollouts with the indices
/// context.first ... context.first + count - 1. A child that cannot win is pruned as not the best. What is decided
/// depends on the results alone, never on the order in which they come. All contests draw together.
template <class Env, class Evaluate, class Tree>
Task<void> curtailed(Env* env, Evaluate* evaluate, Tree* tree, std::vector<Contest> contests, std::uint32_t n) {
  using Rollouts = detail::ContestRollouts<typename Env::State>;
  std::vector<Rollouts> all;
  for (Contest& contest : contests) all.emplace_back(*tree, std::move(contest), n);
  for (;;) {
    std::vector<Task<typename Rollouts::Ends>> tasks;
    for (Rollouts& one : all) one.draw(env, evaluate, tree, tasks);
    if (tasks.empty()) break;
    std::vector<typename Rollouts::Ends> results = co_await gather(std::move(tasks));
    auto result = results.begin();
    for (Rollouts& one : all) one.take(result);
  }
  for (Rollouts& one : all) one.enter(*tree);
}

}  // namespace espalier
