// expect: environment: needs propose(const State&, Kind, std::uint32_t n) -> range of Proposal
#include <espalier/search/beam.hpp>

#include "../toy/bandit.hpp"

struct Arms : espalier::toy::Bandit {
  using Bandit::Bandit;
#ifdef FAIL
  auto propose(State, espalier::Kind kind) const { return std::vector{espalier::Proposal<Action>(1, kind)}; }
#endif
};

int main() {
  Arms env({0.5, 1.0});
  espalier::Beam search({.width = 2}, [](const Arms& arms, Arms::State s) { return arms.value(s); });
  return search.search(env, env.root(), espalier::Seed(1)).size() == 3 ? 0 : 1;
}
