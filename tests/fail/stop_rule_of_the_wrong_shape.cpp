// expect: stop rule: must be stop(const Tree&, NodeId) -> bool, and copyable
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

int main() {
  using namespace espalier;
  toy::Bandit env({0.5, 1.0});
#ifdef FAIL
  const auto stop = [](const auto& tree) { return tree.size() > 9; };  // lacks the node
#else
  const auto stop = [](const auto& tree, NodeId) { return tree.size() > 9; };
#endif
  const auto value = [](const auto& bandit, auto s) { return bandit.value(s); };
  Mcts search({.simulations = 8}, value, Uct(), KeepAll(), MeanBackup(), stop);
  return search.search(env, env.root(), Seed(1)).size() == 3 ? 0 : 1;
}
