// expect: selection policy: must be select(const Node& parent, const Node& child) const -> double
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

struct Greedy {
#ifdef FAIL
  double operator()(const espalier::Node<double>& child) const { return child.mean(); }  // lacks the parent
#else
  double operator()(const espalier::Node<double>&, const espalier::Node<double>& child) const { return child.mean(); }
#endif
};

int main() {
  espalier::toy::Bandit env({0.5, 1.0});
  espalier::Mcts search({.simulations = 8}, [](const auto& bandit, auto s) { return bandit.value(s); }, Greedy());
  return search.search(env, env.root(), espalier::Seed(1)).size() == 3 ? 0 : 1;
}
