#pragma once

#include <espalier/method/decex/search.hpp>
#include <espalier/output/tree_record.hpp>
#include <espalier/policy/backup.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// Draws the rollouts that a search under `curtail` left out: each candidate's value becomes the mean of all n (Eq. 1).
/// The nodes and the chosen chain stay. The annotation "rollouts" of such a node is how many the search had drawn and
/// read. Where it stands already, its rollouts are drawn anew.
template <class Reward>
class AllRollouts {
 public:
  AllRollouts(const DecExRagOptions& options, const rag::Environment& loop, Reward reward)
      : n_(options.n), environment_(loop, options), value_(options, std::move(reward), loop) {}

  /// This object and the tree must outlive the task.
  template <class = void>
  Task<void> annotate(rag::Tree* tree) {
    std::vector<std::uint32_t> have = as_searched(*tree);
    const std::vector<Seed> seeds = tree->seeds();
    std::vector<NodeId> nodes;
    std::vector<Task<std::vector<std::pair<rag::State, double>>>> tasks;
    for (NodeId id = 1; id < tree->size(); ++id) {
      const Reason reason = (*tree)[id].reason;
      if (reason != Reason::none && reason != Reason::not_best && reason != Reason::below_threshold) continue;
      const double unread = tree->annotation("unread_rollouts", id);
      const std::uint32_t drawn = have[id] + (std::isnan(unread) ? 0 : static_cast<std::uint32_t>(unread));
      if (drawn >= n_ || environment_.kinds(tree->state(id)).empty()) continue;
      if (!value_.wants(environment_, tree->state(id))) continue;
      const Context context(seeds[id], drawn, &tree->ledger);
      nodes.push_back(id);
      tasks.push_back(value_.some(environment_, tree->state(id), context, n_ - drawn));
    }
    auto ends = co_await gather(std::move(tasks));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      tree->annotate("rollouts", nodes[i], have[nodes[i]]);
      for (auto& [state, reward] : ends[i]) tree->rollouts.push_back({nodes[i], std::move(state), reward});
    }
    revalue(*tree);
  }

 private:
  /// Takes out what an earlier annotation added. Returns the number of rollouts of each node.
  static std::vector<std::uint32_t> as_searched(rag::Tree& tree) {
    std::vector<std::uint32_t> have(tree.size());
    std::erase_if(tree.rollouts, [&](const auto& rollout) {
      const bool added = have[rollout.node] >= tree.annotation("rollouts", rollout.node);  // false for NaN
      have[rollout.node] += !added;
      return added;
    });
    tree.annotations.erase("rollouts");
    return have;
  }
  /// Sets all values by the rollouts.
  static void revalue(rag::Tree& tree) {
    const auto own = output::rewards(tree);
    for (NodeId id = 0; id < tree.size(); ++id) {
      tree[id].total = own[id].value_or(0);
      tree[id].visits = own[id].has_value();
      tree[id].evaluated |= own[id].has_value();
    }
    espalier::detail::sum_up(tree);
  }

  std::uint32_t n_;
  DecExRagEnvironment environment_;
  DecExRagValue<Reward> value_;
};

}  // namespace espalier::method::detail
