// What pruning saves (DecEx-RAG, Table 2): calls per question of the pruned, the No-Pruning and the Full-Node search at
// k = 3, n = 4, T_max = 4 on a generated world, and how often pruned and No-Pruning choose chains of the same shape.
// Beside it stands how often they, and each search with itself, do so under two seeds: another draw alone changes that
// many chains. Of right chains that with the fewest retrievals is compared. "Refusals kept" values own answers that say
// "I don't know", as the paper's letter does.
// Usage: pruning [questions] [questions for Full-Node]
#include <espalier/output/chain.hpp>

#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

using namespace espalier;

namespace {

struct Measured {
  std::vector<std::uint32_t> iterations, retrievals;
  double calls = 0, f1 = 0;
};

/// The end of the right chain with the fewest retrievals. Without a right chain that of the best one, if there is any.
std::optional<NodeId> chosen_end(const rag::Tree& tree) {
  if (const auto end = output::correct_chain(tree, output::ChainChoice::least)) return end;
  const auto best = output::best_answer(tree);
  return best ? std::optional(best->node) : std::nullopt;
}

Measured measure(const benchmarks::Bench& bench, const method::DecExRagOptions& options, std::size_t questions,
                 std::uint64_t seed = 1) {
  Measured outcome;
  const auto examples = std::span(bench.examples()).first(questions);
  for (const auto& tree : bench.grow(options, examples, seed).trees) {
    outcome.calls += static_cast<double>(tree.ledger.total().completions) / static_cast<double>(questions);
    const auto end = chosen_end(tree);
    outcome.iterations.push_back(end ? tree.state(*end).iterations() : 0);
    outcome.retrievals.push_back(end ? tree.state(*end).retrievals() : 0);
    const auto best = output::best_answer(tree);
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
  const method::DecExRagOptions pruning, unpruned{.search = Search::no_pruning}, whole{.search = Search::full_node};
  const method::DecExRagOptions curtailing{.curtail = method::DecExRagOptions::Curtail::exact};
  const method::DecExRagOptions kept{.refusals = {}}, kept_unpruned{.search = Search::no_pruning, .refusals = {}};
  const Measured pruned = measure(bench, pruning, questions), all = measure(bench, unpruned, questions),
                 curtailed = measure(bench, curtailing, questions), lenient = measure(bench, kept, questions),
                 lenient_all = measure(bench, kept_unpruned, questions);
  std::printf("simulated model, generated world, k = 3, n = 4, T_max = 4\n");
  std::printf("%-12s %14s %8s  %s\n", "search", "calls/question", "F1", "paper's formula");
  std::printf("%-12s %14.0f %8.3f  624\n", "pruned", pruned.calls, pruned.f1);
  std::printf("%-12s %14.0f %8.3f  the same tree but for its rollouts: %.2f of the calls\n", "curtailed",
              curtailed.calls, curtailed.f1, curtailed.calls / pruned.calls);
  std::printf("%-12s %14.0f %8.3f  4,680\n", "No-Pruning", all.calls, all.f1);
  if (full_questions > 0) {
    const Measured full = measure(bench, whole, full_questions);
    const Measured few = measure(bench, pruning, full_questions);
    std::printf("%-12s %14.0f %8.3f  331,776 or 1,296 (%zu questions; pruned on these: %.0f calls, F1 %.3f)\n",
                "Full-Node", full.calls, full.f1, full_questions, few.calls, few.f1);
  }
  std::printf("with refusals kept:\n");
  std::printf("%-12s %14.0f %8.3f\n", "pruned", lenient.calls, lenient.f1);
  std::printf("%-12s %14.0f %8.3f\n", "No-Pruning", lenient_all.calls, lenient_all.f1);
  std::printf("No-Pruning / pruned: %.2fx the calls (formula 7.5x; the paper measured 5.5x in time)\n",
              all.calls / pruned.calls);
  std::printf("No-Pruning / curtailed: %.2fx the calls\n", all.calls / curtailed.calls);
  const Measured pruned_again = measure(bench, pruning, questions, 2),
                 all_again = measure(bench, unpruned, questions, 2);
  const auto agree = [](const char* who, const Measured& a, const Measured& b, const char* paper) {
    std::printf("%-32s %9.0f %% %11.0f %%  %s\n", who, same(a.iterations, b.iterations),
                same(a.retrievals, b.retrievals), paper);
  };
  std::printf("%-32s %11s %13s  %s\n", "chains of the same number of", "iterations", "retrievals", "paper");
  agree("pruned and No-Pruning", pruned, all, "85 %, 87 %");
  agree("curtailed and No-Pruning", curtailed, all, "");
  agree("curtailed and pruned", curtailed, pruned, "");
  agree("the same, another seed", pruned, all_again, "");
  agree("pruned, another seed", pruned, pruned_again, "");
  agree("No-Pruning, another seed", all, all_again, "");
  agree("both with refusals kept", lenient, lenient_all, "");
}
