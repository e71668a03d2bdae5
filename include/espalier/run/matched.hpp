#pragma once

#include <espalier/output/chain.hpp>
#include <espalier/run/method.hpp>
#include <espalier/search/join.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace espalier::run {

/// Answers of one question, by what they say.
class Ballot {
 public:
  void enter(const std::string& answer, NodeId node) {
    auto& [votes, first] = votes_.try_emplace(rag::normalise(answer), 0, node).first->second;
    ++votes;
    first = std::min(first, node);
  }
  /// The first node of those that gave the most frequent answer, the first of equals; no_node without answers.
  [[nodiscard]] NodeId winner() const {
    std::pair<std::size_t, NodeId> best{0, no_node};
    for (const auto& [answer, count] : votes_)
      if (count.first > best.first || (count.first == best.first && count.second < best.second)) best = count;
    return best.second;
  }

 private:
  std::map<std::string, std::pair<std::size_t, NodeId>> votes_;
};

/// Whether so much may still be spent, besides what was.
inline bool affords(const Budget& budget, Costs spent, const Costs& more) {
  spent += more;
  return (budget.calls == 0 || spent.completions <= budget.calls) &&
         (budget.tokens == 0 || spent.prompt_tokens + spent.completion_tokens <= budget.tokens) && (budget.usd == 0 || budget.price(spent) <= budget.usd);
}

/// Answers under new seeds for as long as an answer as dear as the dearest so far is within the budget; the majority of the
/// answers is selected (self-consistency, Wang et al. 2023). All of it is one tree.
inline Task<rag::Tree> answer_until_spent(Method* method, rag::State root, std::uint64_t seed, Budget budget) {
  rag::Tree all = co_await method->answer(root, seed);
  Costs dearest = all.ledger.total();
  Ballot ballot;
  const auto vote = [&](const rag::Tree& tree, NodeId offset) {
    if (const auto best = output::best_answer(tree); best && best->complete) ballot.enter(best->text, best->node + offset);
  };
  vote(all, 0);
  all.annotations.erase("selected");
  for (std::uint64_t round = 1; dearest.completions > 0 && affords(budget, all.ledger.total(), dearest); ++round) {
    const std::uint64_t other_seed = Seed(seed).child(round).value();
    const rag::Tree next = co_await method->answer(root, other_seed);
    const Costs costs = next.ledger.total();
    dearest.completions = std::max(dearest.completions, costs.completions);
    dearest.prompt_tokens = std::max(dearest.prompt_tokens, costs.prompt_tokens);
    dearest.completion_tokens = std::max(dearest.completion_tokens, costs.completion_tokens);
    vote(next, join(all, next));
    all.annotations.erase("selected");
  }
  if (ballot.winner() != no_node) all.annotate("selected", ballot.winner(), 1);
  co_return all;
}

/// A method's answer to a question, or its answers if it is to spend its whole budget.
inline Task<rag::Tree> answer(Method& method, rag::State root, std::uint64_t seed) {
  const auto budget = method.budget_to_match();
  return budget ? answer_until_spent(&method, std::move(root), seed, *budget) : method.answer(std::move(root), seed);
}

}  // namespace espalier::run
