#include <espalier/core/scheduler.hpp>
#include <espalier/policy/sequential_halving.hpp>
#include <espalier/search/mcts.hpp>
#include <espalier/toy/bandit.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sequential_halving_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

using Counts = std::vector<std::uint32_t>;
Counts considered(std::uint32_t actions, std::uint32_t simulations) {
  Counts visits;
  for (std::uint32_t i = 0; i < simulations; ++i) visits.push_back(considered_visits(actions, simulations, i));
  return visits;
}
const auto pays = [](const toy::Bandit& b, toy::Bandit::State s) { return b.value(s); };
template <class Tree>
Counts visits(const Tree& tree) {
  Counts counts;
  for (const NodeId id : tree.children(0)) counts.push_back(tree[id].visits);
  return counts;
}

}  // namespace

TEST_CASE("sequential halving gives these visits to those in the running") {
  CHECK(considered(8, 24) == Counts{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  // 4 actions, 2 phases: 16 / (2 * 4) = 2 rounds of four, then 16 / (2 * 2) = 4 rounds of two
  CHECK(considered(4, 16) == Counts{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(considered(2, 6) == Counts{0, 0, 1, 1, 2, 2});
  CHECK(considered(1, 4) == Counts{0, 1, 2, 3});  // nothing to halve
  CHECK(considered(8, 4) == Counts{0, 0, 0, 0});  // fewer simulations than actions
  // 3 actions, 2 phases: 12 / (2 * 3) = 2 rounds of three, then three rounds of two
  CHECK(considered(3, 12) == Counts{0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE("a search halves at the root: eight arms and 24 pulls") {
  // 1 pull each, 2 more for four, 4 more for two. Sigma is so large that the noise says nothing: 0.9, 0.8, 0.6, 0.5 go
  // on.
  toy::Bandit env({0.3, 0.1, 0.9, 0.2, 0.8, 0.4, 0.5, 0.6});
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const GumbelRoot root({.considered = 8, .c_visit = 1e6});
    const auto tree = Mcts({.simulations = 24, .width = 8}, pays, root).search(env, env.root(), Seed(seed));
    CHECK(visits(tree) == Counts{1, 1, 7, 1, 7, 1, 3, 3});
    CHECK(root.best(tree) == 3);
  }
}

TEST_CASE("without sigma the noise and the priors decide, and the seed decides the noise") {
  toy::Bandit env({0.3, 0.1, 0.9, 0.2, 0.8, 0.4, 0.5, 0.6});
  std::vector<Counts> seen;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const GumbelRoot root({.considered = 8, .c_scale = 0});
    Mcts engine({.simulations = 24, .width = 8}, pays, root);
    const Counts n = visits(engine.search(env, env.root(), Seed(seed)));
    Counts sorted = n;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == Counts{1, 1, 1, 1, 3, 3, 7, 7});
    CHECK(visits(engine.search(env, env.root(), Seed(seed))) == n);
    seen.push_back(n);
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::unique(seen.begin(), seen.end()) - seen.begin() > 4);
  // The Gumbel-max trick: the child with the highest g + ln P is child i with probability P(i). P = 0.7, 0.2, 0.1.
  Tree<int, int> tree(0, Seed(1));
  for (const float prior : {0.7F, 0.2F, 0.1F}) tree.add(0, 1, 1, 0, prior);
  Counts first(3);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    tree.seed = Seed(seed);
    ++first[GumbelRoot({.considered = 3}).best(tree) - 1];
  }
  CHECK(first[0] == doctest::Approx(2800).epsilon(0.05));
  CHECK(first[1] == doctest::Approx(800).epsilon(0.1));
  CHECK(first[2] == doctest::Approx(400).epsilon(0.15));
}

TEST_CASE("no more actions are tried than are to be considered, the first among them") {
  toy::Bandit env({0.3, 0.1, 0.9, 0.2, 0.8, 0.4, 0.5, 0.6});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Counts n = visits(
        Mcts({.simulations = 12, .width = 8}, pays, GumbelRoot({.considered = 2})).search(env, env.root(), Seed(seed)));
    CHECK(n[0] == 6);
    CHECK(std::count(n.begin(), n.end(), 6U) == 2);
    CHECK(std::count(n.begin(), n.end(), 0U) == 6);
  }
}

TEST_CASE("with eight pulls under way each arm gets what it gets with one") {
  toy::Bandit env({0.3, 0.1, 0.9, 0.2, 0.8, 0.4, 0.5, 0.6});
  Scheduler scheduler;
  for (const std::uint32_t window : {1u, 4u, 8u}) {
    Mcts engine({.simulations = 24, .width = 8, .window = window}, pays, GumbelRoot({.considered = 8, .c_visit = 1e6}));
    Counts n = visits(scheduler.run(engine(env, env.root(), Seed(1))));
    std::sort(n.begin(), n.end());
    CHECK(n == Counts{1, 1, 1, 1, 3, 3, 7, 7});
  }
}

TEST_CASE("bad options of a Gumbel root name themselves") {
  CHECK_THROWS_WITH_AS(GumbelRoot({.considered = 0}), "option 'considered' is 0, allowed: 1 or more",
                       std::invalid_argument);
  CHECK_THROWS_AS(GumbelRoot({.c_visit = -1}), std::invalid_argument);
  CHECK_THROWS_AS(GumbelRoot({.c_scale = std::nan("")}), std::invalid_argument);
}

}  // namespace sequential_halving_test
