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

/// Gives each place up to `width` children of each legal kind, in the order of the places. Equal proposals are merged.
/// A child without legal kinds is terminal, a malformed one is pruned. All of them ask for `calls` completions
/// together, with what follows: a reply is drawn again from what these leave of the budget.
template <class Env, class Tree>
Task<std::vector<Place>> add_children(Env* env, Tree* tree, std::vector<Place> places, std::uint32_t width,
                                      std::uint32_t calls = 0) {
  using State = typename Env::State;
  using Item = Proposal<typename Env::Action>;
  std::vector<Task<proposals_t<Env>>> asked;
  std::vector<std::size_t> asker;
  for (std::size_t p = 0; p < places.size(); ++p)
    for (const Kind kind : env->kinds(tree->state(places[p].node))) {
      const Context context(places[p].seed, 0, &tree->ledger, calls - std::min(calls, width));
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
      if (proposals[p][i].closed != Reason::none) steps.push_back(as_task(State(from)));
      else steps.push_back(as_task(step(*env, from, proposals[p][i].action, context)));
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
Task<void> value_children(Evaluate* evaluator, Env* env, Tree* tree, std::vector<Place>* places,
                          std::uint32_t each = 0) {
  const auto pruned = [tree](const Place& place) { return (*tree)[place.node].status == Status::pruned; };
  std::erase_if(*places, pruned);
  using Result = evaluation_t<Evaluate, Env>;
  std::vector<Task<Result>> tasks;
  const auto others = static_cast<std::uint32_t>(places->empty() ? 0 : places->size() - 1);
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
