// expect: policy of Rollout: must be policy(Environment&, const State&) -> Action
#include <espalier/search/mcts.hpp>
#include <espalier/search/rollout.hpp>

#include "../toy/corridor.hpp"

using espalier::toy::Corridor;

int main() {
  Corridor env(3);
#ifdef FAIL
  const auto walk = [](const Corridor::State&) { return Corridor::Action::walk; };
#else
  const auto walk = [](const Corridor&, const Corridor::State&) { return Corridor::Action::walk; };
#endif
  const auto reward = [&](const Corridor::State& s) { return env.value(s); };
  espalier::Mcts search({.simulations = 8}, espalier::Rollout({.n = 1}, reward, walk));
  return search.search(env, env.root(), espalier::Seed(1)).size() > 3 ? 0 : 1;
}
