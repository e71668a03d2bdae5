// expect: environment: needs step(const State&, const Action& [, const Context&]) -> State
#include <espalier/search/beam.hpp>

#include "../toy/bandit.hpp"

struct Arms : espalier::toy::Bandit {
  using Bandit::Bandit;
#ifdef FAIL
  State step(const State& from) const { return from; }  // lacks the action
#endif
};

int main() {
  Arms env({0.5, 1.0});
  espalier::Beam search({.width = 2}, [](const Arms& arms, Arms::State s) { return arms.value(s); });
  return search.search(env, env.root(), espalier::Seed(1)).size() == 3 ? 0 : 1;
}
