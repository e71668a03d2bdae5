// expect: evaluator: must be evaluate(Environment&, const State& [, const Context&]) -> value
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

int main() {
  espalier::toy::Bandit env({0.5, 1.0});
  using State = espalier::toy::Bandit::State;
#ifdef FAIL
  const auto value = [](State) { return 1.0; };
#else
  const auto value = [](const espalier::toy::Bandit&, State) { return 1.0; };
#endif
  espalier::Mcts search({.simulations = 8}, value);
  return search.search(env, env.root(), espalier::Seed(1)).size() == 3 ? 0 : 1;
}
