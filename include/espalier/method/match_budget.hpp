#pragma once

#include <espalier/core/ballot.hpp>
#include <espalier/method/method.hpp>
#include <espalier/output/chain.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace espalier::detail {

/// Copies another tree's branches under this tree's root, after its own branches, with everything recorded for them.
/// Costs add up. Both trees start from the same state, and share the root. Returns the offset of the other's ids.
template <class State, class Action, class Value>
NodeId join(Tree<State, Action, Value>& tree, const Tree<State, Action, Value>& other) {
  using T = Tree<State, Action, Value>;
  const auto offset = static_cast<NodeId>(tree.size() - 1);
  const auto here = [&](NodeId id) { return id == T::root() ? T::root() : id + offset; };
  for (NodeId id = 1; id < other.size(); ++id) {
    const auto& node = other[id];
    const NodeId copy = tree.add(here(node.parent), other.action(id), other.state(id), node.kind, node.prior);
    auto& mine = tree[copy];
    mine.total = node.total;
    take_findings(mine, node);
  }
  tree[T::root()].total += other[T::root()].total;
  tree[T::root()].visits += other[T::root()].visits;
  for (const auto& r : other.rollouts) tree.rollouts.push_back({here(r.node), r.state, r.value});
  for (const SearchFacts::Skip& skip : other.skips) tree.skips.push_back({here(skip.node), skip.kind});
  for (const auto& [name, numbers] : other.annotations)
    for (NodeId id = 1; id < numbers.size(); ++id)
      if (numbers[id] == numbers[id]) tree.annotate(name, here(id), numbers[id]);
  for (const SearchFacts::Remark& remark : other.remarks)
    tree.remarks.push_back({remark.name, here(remark.node), remark.text});
  tree.ledger += other.ledger;
  for (const auto& [name, costs] : other.annotation_costs) tree.annotation_costs[name] += costs;
  tree.steps += other.steps;
  tree.choices += other.choices;
  tree.explored += other.explored;
  tree.lowest = std::min(tree.lowest, other.lowest);
  tree.highest = std::max(tree.highest, other.highest);
  return offset;
}

}  // namespace espalier::detail

namespace espalier::method {

namespace detail {

/// Answers again under new seeds while the budget allows (docs page "baselines"). The majority answer is selected
/// (self-consistency, Wang et al. 2023). All answers are in one tree, which ended as its first answer did.
inline Task<rag::Tree> answer_until_spent(Method* method, rag::State root, std::uint64_t seed, Budget budget) {
  const double began = budget.now();
  rag::Tree all = co_await method->answer(root, seed);
  Ledger::Costs dearest = all.ledger.total();
  espalier::detail::Ballot<NodeId> ballot;
  const auto vote = [&](const rag::Tree& tree, NodeId offset) {
    if (const auto best = output::best_answer(tree); best && best->complete)
      ballot.vote(rag::detail::form_or_text(best->text), best->node + offset);
  };
  vote(all, 0);
  all.annotations.erase("selected");
  for (std::uint64_t round = 1; dearest.completions > 0 && budget.affords(all.ledger.total(), dearest); ++round) {
    const std::uint64_t other_seed = Seed(seed).child(round).value();
    rag::State again = root.after(Ledger::Spending(all.ledger.total(), budget.now() - began, all.ledger.densest));
    const rag::Tree next = co_await method->answer(std::move(again), other_seed);
    const Ledger::Costs costs = next.ledger.total();
    dearest.completions = std::max(dearest.completions, costs.completions);
    dearest.prompt_tokens = std::max(dearest.prompt_tokens, costs.prompt_tokens);
    dearest.completion_tokens = std::max(dearest.completion_tokens, costs.completion_tokens);
    vote(next, espalier::detail::join(all, next));
    all.annotations.erase("selected");
    if (next.ending == SearchFacts::Ending::budget) break;
  }
  if (const NodeId winner = ballot.winner(no_node); winner != no_node) all.annotate("selected", winner, 1);
  co_return all;
}

}  // namespace detail

/// A method's answer to a question, or several answers if it must spend its whole budget.
inline Task<rag::Tree> answer(Method& method, rag::State root, std::uint64_t seed) {
  const auto budget = method.budget_to_match();
  return budget ? detail::answer_until_spent(&method, std::move(root), seed, *budget)
                : method.answer(std::move(root), seed);
}

}  // namespace espalier::method
