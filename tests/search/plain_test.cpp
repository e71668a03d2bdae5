// Engines over environments that await nothing: one plain call grows the tree of the task.
#include <espalier/search.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include "../toy/corridor.hpp"
#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace plain_test {

using namespace espalier;
using toy::UniformTree;

namespace {

/// The same environment, whose functions give tasks.
struct Waiting : UniformTree {
  using UniformTree::UniformTree;
  Task<std::vector<Proposal<Action>>> propose(State s, Kind kind, std::uint32_t n, Context context) const {
    const auto drawn = UniformTree::propose(s, kind, n, context);
    std::vector<Proposal<Action>> moves(drawn.begin(), drawn.end());
    co_return moves;
  }
  Task<State> step(State s, Action a) const { co_return UniformTree::step(s, a); }
};

std::string text_of(const auto& tree) {
  return testing::tree_text(tree, [](const auto& shown) {
    if constexpr (requires { shown.hash; }) return std::to_string(shown.hash);
    else return std::to_string(shown);
  });
}

/// The tree of a plain call, after a check that tasks grow the same one.
auto grown(auto engine) {
  UniformTree plain({.branching = 3, .depth = 4});
  Waiting waiting({.branching = 3, .depth = 4});
  const auto tree = engine.search(plain, plain.root(), Seed(1));
  CHECK(tree.size() > 4);
  CHECK(text_of(tree) == text_of(testing::complete(engine(plain, plain.root(), Seed(1)))));
  CHECK(text_of(tree) == text_of(testing::complete(engine(waiting, waiting.root(), Seed(1)))));
  return tree;
}

Ledger ledger;
const Context somewhere(Seed(1), 0, &ledger);

}  // namespace

TEST_CASE("every engine grows the same tree in a plain call and as a task") {
  const Rollout value({.n = 2, .max_steps = 3});
  grown(Mcts({.simulations = 60, .width = 3}, value));
  grown(Mcts({.simulations = 60, .width = 3}, Rollout({.n = 2}, &UniformTree::value, Grafted())));
  grown(Mcts({.simulations = 60, .width = 3}, Rollout({.n = 2}, &UniformTree::value, UniformTree({.branching = 2}))));
  grown(Beam({.beam = 2, .width = 3}, value, Threshold(0.2)));
  grown(BestFirst({.width = 3, .expansions = 9}, value));
  grown(Layered({.width = 3}, value, AllOf(Before(TopK(2)), Keep(TopK(1)))));
  grown(Trajectories({.n = 3}, value));
  grown(PolicyLoop());
  CHECK(grown(BestOfN({.n = 3}, value)).annotations.contains("selected"));
  const auto rank = [](Kind, double worth) { return worth; };
  const auto text = [](std::uint32_t action) { return std::to_string(action); };
  using Levels = HierarchicalBeam<Rollout<>, decltype(rank), decltype(text)>;
  grown(Levels({.levels = {{0, Levels::Level()}}}, value, rank, text));
}

TEST_CASE("a rollout takes the steps of its policy") {
  UniformTree env({.branching = 3, .depth = 4});
  const auto second = [](const UniformTree&, const UniformTree::State&) { return 1u; };
  UniformTree::State end = env.root();
  for (int i = 0; i < 4; ++i) end = env.step(end, 1);
  CHECK(Rollout({.n = 2}, &UniformTree::value, second)(env, env.root(), somewhere).value == UniformTree::value(end));

  std::vector<std::uint64_t> seeds;
  const auto noting = [&](const UniformTree&, const UniformTree::State&, const Context& context) {
    CHECK(context.first == 0);
    seeds.push_back(context.seed.value());
    return 0u;
  };
  Rollout({.n = 5}, &UniformTree::value, noting)(env, env.root(), somewhere);
  CHECK(seeds.size() == 20);
  std::sort(seeds.begin(), seeds.end());
  CHECK(std::adjacent_find(seeds.begin(), seeds.end()) == seeds.end());  // each under a seed of its own
}

TEST_CASE("random moves are uniform over kinds, then over the proposals of a kind") {
  struct Menu {  // kind 0 has two dishes, kind 1 has one
    using State = int;
    using Action = int;
    static std::vector<Kind> kinds(int s) { return s < 0 ? std::vector<Kind>{0, 1} : std::vector<Kind>(); }
    static std::vector<Proposal<int>> propose(int, Kind kind, std::uint32_t) {
      if (kind == 0) return {{0, kind}, {1, kind}};
      return {{2, kind}};
    }
    static int step(int, int a) { return a; }
  };
  Menu env;
  Rollout random({.n = 4000}, [](int) { return 1.0; }, RandomMoves());
  int counts[3]{};
  for (const auto& [state, worth] : random(env, -1, somewhere).terminals) ++counts[state];
  CHECK(counts[0] == doctest::Approx(1000).epsilon(0.1));  // 1/2 * 1/2, where a standard deviation is 3 %
  CHECK(counts[1] == doctest::Approx(1000).epsilon(0.1));
  CHECK(counts[2] == doctest::Approx(2000).epsilon(0.1));
}

TEST_CASE("a task that is run in a plain call may wait for nothing outside") {
  detail::Event never;
  const auto waiting = [](detail::Event* event) -> Task<int> {
    co_await *event;
    co_return 1;
  };
  CHECK_THROWS_WITH(detail::run_plain(waiting(&never)), "a task that is run in a plain call waits for a port");
}

}  // namespace plain_test
