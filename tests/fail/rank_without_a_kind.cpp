// expect: rank of HierarchicalBeam: must be rank(Kind, const Value&) -> double
#include <espalier/search/hierarchical_beam.hpp>

#include "../toy/bandit.hpp"

int main() {
  espalier::toy::Bandit env({0.5, 1.0});
  const auto value = [](const auto& bandit, auto s) { return bandit.value(s); };
  const auto rank = [](double worth) { return worth; };
  const auto text = [](auto action) { return std::to_string(action); };
  espalier::HierarchicalBeam search({.levels = {{0, {}}}}, value, rank, text);
  search.search(env, env.root(), espalier::Seed(1));
}
