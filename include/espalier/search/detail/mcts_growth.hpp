#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/search/detail/mcts_descent.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace espalier::detail {

/// The number of samples that a node with these kinds draws in total.
std::uint32_t samples_of(const MctsOptions& options, const auto& kinds) {
  return static_cast<std::uint32_t>(std::ranges::distance(kinds)) * options.width;
}

/// Says which of the children that a simulation adds it values. It is asked about each of them in their order.
class Valued {
  using Values = MctsOptions::Values;

 public:
  explicit Valued(const MctsOptions& options) : values_(options.values) {}
  bool operator()(const auto& proposal) {
    if (proposal.closed != Reason::none) return false;
    if (first_) return values_ == Values::all || (values_ == Values::alike && proposal.kind == *first_);
    first_ = proposal.kind;
    return true;
  }

 private:
  Values values_;
  std::optional<Kind> first_{};
};

/// Calls draw(kind, n, context) for a node's next samples and counts them. Marks it as expanded if none will follow.
void for_each_ask(const MctsOptions& options, auto& env, auto& tree, const Place& place, Ledger* ledger, auto draw) {
  if constexpr (TwoPlayers<std::remove_reference_t<decltype(env)>>)
    if (const int player = env.player(tree.state(place.node)); player != 0 && player != 1)
      throw TreeError("player(state) is " + std::to_string(player) + ", not 0 or 1");
  const auto kinds = env.kinds(tree.state(place.node));
  const std::uint32_t drawn = tree[place.node].drawn;
  const bool all = options.expand == MctsOptions::Expand::all;
  const std::uint32_t total = samples_of(options, kinds), each = options.width;
  const std::uint32_t after = all ? total : drawn + 1;
  tree[place.node].drawn = static_cast<std::uint16_t>(std::min<std::uint32_t>(after, 65535));
  tree[place.node].status = after >= total ? Status::expanded : Status::open;
  const bool in_turn = options.widen_k > 0;
  std::uint32_t grafted = drawn;  // samples already there, which with `all` belong to the first kind
  const std::uint32_t next = in_turn ? drawn % (total / each) : drawn / each,
                      sample = in_turn ? drawn / (total / each) : drawn % each;
  std::uint32_t position = 0;
  for (const Kind kind : kinds) {
    if (all) {
      const std::uint32_t have = std::min(std::exchange(grafted, 0), each);
      if (have < each) draw(kind, each - have, Context(place.seed, have, ledger));
    } else if (position++ == next) draw(kind, 1u, Context(place.seed, sample, ledger));
  }
}

/// The child that equals a proposal. If there is none, no_node with the ordinal that a new child would have.
Sibling find(const auto& tree, NodeId parent, const auto& proposal) {
  Sibling found;
  for (NodeId child = tree[parent].first_child; child != no_node; child = tree[child].next_sibling, ++found.ordinal)
    if (proposal.closed == Reason::none && !closed_at_birth(tree[child]) && tree[child].kind == proposal.kind &&
        tree.action(child) == proposal.action) {
      found.node = child;
      break;
    }
  return found;
}

/// Adds a child for a proposal. `weight` is its share among the siblings.
template <class Proposal>
NodeId add(const Prior& prior, auto& tree, NodeId parent, Proposal&& proposal, float weight, auto state) {
  const NodeId id = tree.add(parent, std::forward<Proposal>(proposal).action, std::move(state), proposal.kind, weight);
  if (proposal.closed != Reason::none) tree.prune(id, proposal.closed);
  else prior.note(tree, id);
  return id;
}

/// Adds the steps of a node's rollouts as nodes without visits. They count as samples of the first kind, which rollouts
/// draw. A node that has grown in the meantime keeps its own children.
void graft(const MctsOptions& options, auto& env, auto& tree, const Place& from, auto& paths) {
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
