/// UCT with one random playout a simulation on tic-tac-toe from the empty board: what game libraries measure. peers.py
/// runs this beside theirs. The best of some runs, by CPU time. Usage: bench_tic_tac_toe [simulations [runs]].
#include <espalier/search/mcts.hpp>

#include "two_players.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace espalier;

int main(int argc, char** argv) {
  const auto simulations = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 100'000);
  const auto runs = static_cast<std::uint64_t>(argc > 2 ? std::atoi(argv[2]) : 5);
  toy::TwoPlayers game;
  const auto playout = [](const toy::TwoPlayers&, const toy::TwoPlayers::State& s, const Context& context) {
    return toy::TwoPlayers::playout(s, Random(context.seed));
  };
  Mcts engine({.simulations = simulations, .width = 9, .expand = MctsOptions::Expand::one}, playout, Uct());
  double best = 0;
  std::size_t nodes = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const std::clock_t start = std::clock();
    const auto tree = engine.search(game, toy::TwoPlayers::State(), Seed(run, "empty board"));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    best = std::max(best, simulations / seconds);
    nodes = tree.size();
  }
  std::printf("tic-tac-toe, UCT, one random playout, %u simulations: %.2f M simulations/s, %zu nodes\n", simulations,
              best / 1e6, nodes);
}
