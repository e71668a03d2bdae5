// expect: Mcts asks a pruning policy when values are merged, and has no `before` and no `keep`
#include <espalier/policy/moments.hpp>
#include <espalier/policy/prune.hpp>
#include <espalier/search/mcts_task.hpp>

#include "../toy/bandit.hpp"

int main() {
  espalier::toy::Bandit env({0.5, 1.0});
#ifdef FAIL
  const espalier::Before policy(espalier::TopK(1));
#else
  const espalier::TopK policy(1);
#endif
  const auto value = [](const auto& bandit, auto state) { return bandit.value(state); };
  espalier::Mcts search({.simulations = 8, .width = 2}, value, espalier::Uct(), policy);
  return search.search(env, env.root(), espalier::Seed(1))[1].status == espalier::Status::pruned ? 0 : 1;
}
