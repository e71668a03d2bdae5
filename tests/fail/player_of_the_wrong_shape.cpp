// expect: environment: its player must be player(const State&) -> 0 or 1
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

struct Game : espalier::toy::Bandit {
  enum class Side { white, black };
  static Side player(State) { return Side::black; }
};

int main() {
  Game game{espalier::toy::Bandit({0.5, 1.0})};
  espalier::Mcts search({}, [](const auto& bandit, auto s) { return bandit.value(s); });
  search.search(game, game.root(), espalier::Seed(1));
}
