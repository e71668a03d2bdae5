// expect: search: environment or evaluator gives a Task. Call engine(env, root, seed) instead
#include <espalier/core/task.hpp>
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

#ifdef FAIL
espalier::Task<double> value(const espalier::toy::Bandit& env, espalier::toy::Bandit::State s) {
  co_return env.value(s);
}
#else
double value(const espalier::toy::Bandit& env, espalier::toy::Bandit::State s) { return env.value(s); }
#endif

int main() {
  espalier::toy::Bandit env({0.5, 1.0});
  espalier::Mcts search({.simulations = 8}, value);
  return search.search(env, env.root(), espalier::Seed(1)).size() == 3 ? 0 : 1;
}
