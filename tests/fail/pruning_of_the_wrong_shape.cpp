// expect: pruning policy: must be prune(const Tree&, std::span<const NodeId> siblings) const -> Verdict
#include <espalier/search/beam.hpp>

#include "../toy/bandit.hpp"

int main() {
  using namespace espalier;
  toy::Bandit env({0.5, 1.0});
#ifdef FAIL
  const auto best = [](const auto&, auto siblings) { return std::vector<NodeId>(1, siblings[0]); };  // whom to keep
#else
  const TopK best(1);
#endif
  const auto value = [](const auto& bandit, auto s) { return bandit.value(s); };
  Beam search({.width = 2}, value, AllOf(Threshold(0.1), best));
  return search.search(env, env.root(), Seed(1)).size() == 3 ? 0 : 1;
}
