#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/detail/dedup.hpp>
#include <espalier/search/detail/place.hpp>
#include <espalier/search/rollout.hpp>

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

namespace espalier::detail {

/// The completions that `width` children of each legal kind ask for at most where every reply can be read. The value of
/// each child asks for `value_calls`.
template <class Env, class Tree>
std::uint64_t calls_of(Env& env, const Tree& tree, const std::vector<Place>& places, std::uint64_t width,
                       std::uint64_t value_calls) {
  std::uint64_t kinds = 0;
  for (const Place& place : places)
    kinds += static_cast<std::uint64_t>(std::ranges::distance(env.kinds(tree.state(place.node))));
  return kinds * width * (1 + value_calls);
}

/// Gives each place up to `width` children of each legal kind, in the order of the places. Equal proposals are merged.
/// A child without legal kinds is terminal, a malformed one is pruned. `calls`: completions that all of them ask for,
/// values included. They are kept back before a reply is drawn again.
template <class Env, class Tree>
Task<std::vector<Place>> add_children(Env* env, Tree* tree, std::vector<Place> places, std::uint32_t width,
                                      std::uint64_t calls) {
  using State = typename Env::State;
  using Item = Proposal<typename Env::Action>;
  std::vector<Task<proposals_t<Env>>> asked;
  std::vector<std::size_t> asker;
  for (std::size_t p = 0; p < places.size(); ++p)
    for (const Kind kind : env->kinds(tree->state(places[p].node))) {
      const Context context(places[p].seed, 0, &tree->ledger, calls - std::min<std::uint64_t>(calls, width));
      asked.push_back(as_task(propose(*env, tree->state(places[p].node), kind, width, context)));
      asker.push_back(p);
    }
  auto drawn = co_await gather(std::move(asked));
  std::vector<std::vector<Item>> proposals(places.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) append(proposals[asker[i]], std::move(drawn[i]));
  std::vector<Place> fresh;
  std::vector<Task<State>> steps;
  for (std::size_t p = 0; p < places.size(); ++p) {
    const State& from = tree->state(places[p].node);
    proposals[p] = dedup(std::move(proposals[p]));
    for (std::size_t i = 0; i < proposals[p].size(); ++i) {
      fresh.push_back({no_node, places[p].seed.child(i), places[p].depth + 1});
      const Context context(fresh.back().seed, 0, &tree->ledger);
      steps.push_back(step_or_stay(*env, from, proposals[p][i], context));
    }
  }
  std::vector<State> states = co_await gather(std::move(steps));
  std::size_t next = 0;
  for (std::size_t p = 0; p < places.size(); ++p) {
    (*tree)[places[p].node].status = Status::expanded;
    for (Item& proposal : proposals[p]) {
      const NodeId id =
          tree->add(places[p].node, std::move(proposal.action), std::move(states[next]), proposal.kind, proposal.prior);
      if (proposal.closed != Reason::none) tree->prune(id, proposal.closed);
      else if (std::ranges::empty(env->kinds(tree->state(id)))) (*tree)[id].status = Status::terminal;
      fresh[next++].node = id;
    }
  }
  co_return fresh;
}

/// Values all places that are not pruned, at once, and enters each value at its node alone. Removes the places that are
/// pruned or could not be valued. A value asks for `each` calls. They are kept back from the others.
template <class Evaluate, class Env, class Tree>
Task<void> value_children(Evaluate* evaluator, Env* env, Tree* tree, std::vector<Place>* places, std::uint64_t each) {
  const auto pruned = [tree](const Place& place) { return (*tree)[place.node].status == Status::pruned; };
  std::erase_if(*places, pruned);
  using Result = evaluation_t<Evaluate, Env>;
  std::vector<Task<Result>> tasks;
  const std::uint64_t others = places->empty() ? 0 : places->size() - 1;
  for (const Place& place : *places) {
    const Context context(place.seed, 0, &tree->ledger, each * others);
    tasks.push_back(as_task(evaluate(*evaluator, *env, tree->state(place.node), context)));
  }
  std::vector<Result> results = co_await gather(std::move(tasks));
  for (std::size_t i = 0; i < results.size(); ++i)
    enter_evaluation(*tree, (*places)[i].node, std::move(results[i]), LeafBackup());
  std::erase_if(*places, pruned);
}

}  // namespace espalier::detail
