// expect: backup: must be backup(Tree&, NodeId leaf, const Value&) const
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

int main() {
  using namespace espalier;
  toy::Bandit env({0.5, 1.0});
#ifdef FAIL
  const auto back = [](auto& tree, NodeId leaf) { ++tree[leaf].visits; };  // lacks the value
#else
  const MeanBackup back;
#endif
  const auto value = [](const auto& bandit, auto s) { return bandit.value(s); };
  Mcts search({.simulations = 8}, value, Uct(), KeepAll(), back);
  return search.search(env, env.root(), Seed(1)).size() == 3 ? 0 : 1;
}
