// What rules that stop rollouts cost and lose (DecEx-RAG's option `curtail`): calls per question, EM and F1 of the best
// chain by gold reward, and the share of questions whose search goes the same way as with all n rollouts. Fewer
// rollouts for everybody stand beside them, because they save calls too. All on a generated world, k = 3, T_max = 4.
// Usage: stopping [questions] [n] [run seeds]
#include <espalier/output/chain.hpp>

#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace espalier;
using Curtail = method::DecExRagOptions::Curtail;

namespace {

struct Measured {
  std::vector<std::string> ways;  ///< of each question: what goes on in its tree
  double calls = 0, em = 0, f1 = 0;
};

Measured measure(const benchmarks::Bench& bench, const method::DecExRagOptions& options, std::uint64_t seeds) {
  Measured measured;
  const double all = static_cast<double>(seeds * bench.examples().size());
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    for (const auto& tree : bench.grow(options, bench.examples(), seed).trees) {
      measured.calls += static_cast<double>(tree.ledger.total().completions) / all;
      const auto best = output::best_answer(tree);
      const auto& gold = tree.state(tree.root()).gold();
      const auto scores = rag::score(rag::Profile::common, best ? std::optional(best->text) : std::nullopt, gold);
      measured.em += 100 * scores.em / all;
      measured.f1 += 100 * scores.f1 / all;
      std::string& way = measured.ways.emplace_back();
      for (NodeId id = 1; id < tree.size(); ++id)
        if (tree[id].status != Status::pruned) way += tree.action(id).text + '\n';
    }
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  const auto questions = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 200);
  const auto n = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 4);
  const auto seeds = static_cast<std::uint64_t>(argc > 3 ? std::atoi(argv[3]) : 1);
  const benchmarks::Bench bench(5000, questions);
  const Measured whole = measure(bench, {.n = n}, seeds);
  std::printf("simulated model, generated world, oracle, k = 3, T_max = 4; the same way as all n = %u rollouts\n", n);
  std::printf("%-24s %14s %6s %6s %6s %9s\n", "rollouts", "calls/question", "ratio", "EM", "F1", "same way");
  const auto print = [&](const std::string& name, const Measured& m) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < m.ways.size(); ++i) same += m.ways[i] == whole.ways[i];
    std::printf("%-24s %14.1f %6.2f %6.1f %6.1f %7.1f %%\n", name.c_str(), m.calls, m.calls / whole.calls, m.em, m.f1,
                100.0 * static_cast<double>(same) / static_cast<double>(m.ways.size()));
  };
  print("all, n = " + std::to_string(n), whole);
  for (std::uint32_t fewer = n - 1; fewer > 0; fewer = fewer > 4 ? fewer / 2 : fewer - 1)
    for (const Curtail curtail : {Curtail::none, Curtail::exact})
      print((curtail == Curtail::none ? "all, n = " : "exact, n = ") + std::to_string(fewer),
            measure(bench, {.n = fewer, .curtail = curtail}, seeds));
  print("exact", measure(bench, {.n = n, .curtail = Curtail::exact}, seeds));
  print("halving", measure(bench, {.n = n, .curtail = Curtail::halving}, seeds));
  print("consistency", measure(bench, {.n = n, .curtail = Curtail::consistency}, seeds));
  for (const double delta : {0.1, 0.3, 0.5, 0.9})
    print("kl_lucb, delta = " + std::to_string(delta).substr(0, 3),
          measure(bench, {.n = n, .curtail = Curtail::kl_lucb, .delta = delta}, seeds));
}
