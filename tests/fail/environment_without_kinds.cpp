// expect: environment: needs kinds(const State&) -> range of Kind
#include <espalier/search/mcts.hpp>

#include "../toy/bandit.hpp"

struct Arms : espalier::toy::Bandit {
  using Bandit::Bandit;
#ifdef FAIL
  void kinds(State) const = delete;
#endif
};

int main() {
  Arms env({0.5, 1.0});
  espalier::Mcts search({.width = 2}, [](const Arms& arms, Arms::State s) { return arms.value(s); });
  return search.search(env, env.root(), espalier::Seed(1)).size() == 3 ? 0 : 1;
}
