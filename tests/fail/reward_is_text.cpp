// expect: reward of Rollout: must be reward(const State&) -> double
#include <espalier/search/mcts.hpp>
#include <espalier/search/rollout.hpp>

#include "../toy/corridor.hpp"

#include <string>

using espalier::toy::Corridor;

int main() {
  Corridor env(3);
#ifdef FAIL
  const auto reward = [](const Corridor::State&) { return std::string("good"); };
#else
  const auto reward = [&](const Corridor::State& s) { return env.value(s); };
#endif
  espalier::Mcts search({.simulations = 8}, espalier::Rollout({.n = 1}, reward));
  return search.search(env, env.root(), espalier::Seed(1)).size() > 3 ? 0 : 1;
}
