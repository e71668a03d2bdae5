// Built where include/espalier holds core, policy, search and toy alone: engines know nothing of language.
#include <espalier/search.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include "../benchmarks/two_players.hpp"

using namespace espalier;

int main() {
  toy::TwoPlayers game;
  Mcts uct({.simulations = 2000, .width = 9},
           Rollout({.n = 1, .max_steps = 9}, &toy::TwoPlayers::value, RandomMoves()));
  const auto played = uct.search(game, toy::TwoPlayers::State(), Seed(1));
  toy::UniformTree world({.branching = 3, .depth = 4});
  Beam beam(
      {.beam = 2, .width = 3}, [](const auto& tree, const auto& state) { return tree.value(state); }, Threshold(0.1));
  const auto kept = beam.search(world, world.root(), Seed(1));
  return played[0].visits == 2000 && kept.size() > 1 ? 0 : 1;
}
