#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>
#include <espalier/search/detail/mcts_growth.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::detail {

/// A simulation under way. Its tasks use copies, because the tree moves its states as it grows.
template <class Env, class Result>
struct Flight {
  Flight() { done.happen(); }
  Place place{};                ///< where the selection ended
  std::vector<Place> fresh{};   ///< new children of `place` that are being valued, none if `place` itself is
  Ledger ledger{};              ///< its costs until it is merged
  bool growing = false;         ///< children of `place` are being fetched
  bool again = false;           ///< values `place` once more, while an earlier simulation fetches its children
  Status after{};               ///< the status of `place` after the growth
  typename Env::State state{};  ///< of `place`, while it grows
  std::vector<std::tuple<Kind, std::uint32_t, Context>> asks{};
  std::vector<Proposal<typename Env::Action>> proposals{};
  std::vector<typename Env::State> states{};                   ///< of the new proposals, in order
  std::vector<std::pair<typename Env::State, Seed>> leaves{};  ///< states and seeds to evaluate
  std::vector<Result> results{};                               ///< of the leaves, in order
  std::exception_ptr growth_error{}, error{};
  Event grown{}, done{};
  std::vector<Task<void>> tasks{};
};

/// Adds the steps of a node's rollouts as nodes without visits. They count as samples of the first kind, which rollouts
/// draw. A node that has grown in the meantime keeps its own children.
template <class Env, class Tree, class Paths>
void graft(const MctsOptions& options, Env& env, Tree& tree, const Place& from, Paths& paths) {
  if (tree[from.node].status != Status::open || tree[from.node].drawn > 0) return;
  std::vector<NodeId> grown;
  for (auto& path : paths) {
    Place place = from;
    for (auto& [proposal, state] : path) {
      if (place.depth >= options.max_depth) break;
      const auto kinds = env.kinds(tree.state(place.node));
      const std::uint32_t total = samples_of(options, kinds);
      if (options.widen_k > 0 && total > options.width)
        bad_option("widen_k", options.widen_k, "0 where rollouts of one kind of several are grafted");
      auto& parent = tree[place.node];
      if (parent.drawn == 0) grown.push_back(place.node);
      parent.drawn = static_cast<std::uint16_t>(std::min<std::uint32_t>(parent.drawn + 1, options.width));
      if (parent.drawn >= total) parent.status = Status::expanded;
      const float weight = options.prior.weight(proposal, options.prior.as_proposed() ? 1 : total);
      const bool read = proposal.closed == Reason::none;
      Sibling child = find(tree, place.node, proposal);
      if (child.node != no_node) tree[child.node].prior += weight;
      else child.node = add(options.prior, tree, place.node, std::move(proposal), weight, std::move(state));
      if (!read) break;
      place = below(place, child);
    }
  }
  for (const NodeId node : grown) options.prior.share(tree, node);
}

}  // namespace espalier::detail
