#pragma once

#include <espalier/core/ballot.hpp>
#include <espalier/method/detail/join.hpp>
#include <espalier/method/method.hpp>
#include <espalier/output/chain.hpp>

#include <algorithm>
#include <utility>

namespace espalier::method {

namespace detail {

/// Answers again under new seeds while the budget still allows an answer as expensive as the most expensive one so far.
/// Each answer may spend what is left, and one that the budget cuts is the last. The majority answer is selected
/// (self-consistency, Wang et al. 2023). All answers are in one tree, which ended as its first answer did.
template <class = void>
Task<rag::Tree> answer_until_spent(Method* method, rag::State root, std::uint64_t seed, Budget budget) {
  const double began = budget.now();
  rag::Tree all = co_await method->answer(root, seed);
  Ledger::Costs dearest = all.ledger.total();
  espalier::detail::Ballot<NodeId> ballot;
  const auto vote = [&](const rag::Tree& tree, NodeId offset) {
    if (const auto best = output::best_answer(tree); best && best->complete)
      ballot.vote(rag::normalise(best->text), best->node + offset);
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
template <class = void>
Task<rag::Tree> answer(Method& method, rag::State root, std::uint64_t seed) {
  const auto budget = method.budget_to_match();
  return budget ? detail::answer_until_spent(&method, std::move(root), seed, *budget)
                : method.answer(std::move(root), seed);
}

}  // namespace espalier::method
