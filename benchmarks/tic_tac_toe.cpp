/// UCT with one random playout a simulation on tic-tac-toe from the empty board: what game libraries measure. peers.py runs
/// this beside theirs. Usage: bench_tic_tac_toe [simulations].
#include <espalier/search/mcts.hpp>
#include <espalier/toy/two_players.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace espalier;

int main(int argc, char** argv) {
  const auto simulations = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 100'000);
  toy::TwoPlayers game;
  Mcts<toy::Playout, toy::TwoPlayerUct> engine({.simulations = simulations, .width = 9}, toy::Playout(), toy::TwoPlayerUct());
  double best = 0;
  std::size_t nodes = 0;
  for (std::uint64_t run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const auto tree = engine.search(game, toy::TwoPlayers::State(), Seed(run, "empty board"));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, simulations / seconds);
    nodes = tree.size();
  }
  std::printf("tic-tac-toe, UCT, one random playout, %u simulations: %.2f M simulations/s, %zu nodes\n", simulations, best / 1e6, nodes);
}
