// What pruning saves (DecEx-RAG, Table 2): calls a question of the pruned, the No-Pruning and the Full-Node search at
// k = 3, n = 4, T_max = 4 on a generated world, and how often pruned and No-Pruning choose chains of the same shape.
// Usage: pruning [questions] [questions for Full-Node]
#include <espalier/output/chain.hpp>

#include "world.hpp"

#include <cstdio>
#include <cstdlib>

using namespace espalier;

namespace {

struct Measured {
  std::vector<std::optional<output::ChosenAnswer>> answers;
  std::vector<std::uint32_t> iterations, retrievals;
  double calls = 0, f1 = 0;
};

Measured measure(const benchmarks::Bench& bench, method::DecExRagOptions::Search search, std::size_t questions) {
  Measured outcome;
  const auto examples = std::span(bench.examples()).first(questions);
  for (const auto& tree : bench.grow({.search = search}, examples).trees) {
    outcome.calls += static_cast<double>(tree.ledger.total().completions) / static_cast<double>(questions);
    outcome.answers.push_back(output::best_answer(tree));
    const auto& best = outcome.answers.back();
    outcome.iterations.push_back(best ? tree.state(best->node).iterations() : 0);
    outcome.retrievals.push_back(best ? tree.state(best->node).retrievals() : 0);
    const auto& root = tree.state(tree.root());
    outcome.f1 += rag::score(rag::Profile::common, best ? std::optional(best->text) : std::nullopt, root.gold()).f1 /
                  static_cast<double>(questions);
  }
  return outcome;
}

double same(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += a[i] == b[i];
  return 100.0 * static_cast<double>(n) / static_cast<double>(a.size());
}

}  // namespace

int main(int argc, char** argv) {
  using Search = method::DecExRagOptions::Search;
  const auto questions = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 200);
  const auto full_questions = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 10);
  const benchmarks::Bench bench(5000, static_cast<std::uint32_t>(questions));
  const Measured pruned = measure(bench, Search::pruned, questions),
                 all = measure(bench, Search::no_pruning, questions);
  std::printf("simulated model, generated world, k = 3, n = 4, T_max = 4\n");
  std::printf("%-12s %14s %8s  %s\n", "search", "calls/question", "F1", "paper's formula");
  std::printf("%-12s %14.0f %8.3f  624\n", "pruned", pruned.calls, pruned.f1);
  std::printf("%-12s %14.0f %8.3f  4,680\n", "No-Pruning", all.calls, all.f1);
  if (full_questions > 0) {
    const Measured full = measure(bench, Search::full_node, full_questions);
    const Measured few = measure(bench, Search::pruned, full_questions);
    std::printf("%-12s %14.0f %8.3f  331,776 or 1,296 (%zu questions; pruned on these: %.0f calls, F1 %.3f)\n",
                "Full-Node", full.calls, full.f1, full_questions, few.calls, few.f1);
  }
  std::printf("No-Pruning / pruned: %.2fx the calls (formula 7.5x; the paper measured 5.5x in time)\n",
              all.calls / pruned.calls);
  std::printf("same number of iterations %.0f %%, of retrievals %.0f %% (paper: 85 %%, 87 %%)\n",
              same(pruned.iterations, all.iterations), same(pruned.retrievals, all.retrievals));
}
