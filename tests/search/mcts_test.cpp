#include <espalier/search/mcts_task.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include "../toy/bandit.hpp"
#include "../toy/corridor.hpp"
#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mcts_test {

using namespace espalier;
using namespace espalier::detail;
using Expand = MctsOptions::Expand;
using toy::UniformTree;

namespace {

std::string show(std::uint32_t action) { return std::to_string(action); }
std::string show(const UniformTree::State& s) { return std::to_string(s.hash) + "@" + std::to_string(s.depth); }
std::string show(std::uint64_t state) { return std::to_string(state); }
const auto shown = [](const auto& x) { return show(x); };
const auto uniform_value = [](const UniformTree&, const UniformTree::State& s) { return UniformTree::value(s); };

/// The action of the root's most visited child.
auto favourite(const auto& tree) {
  NodeId best = tree[0].first_child;
  for (const NodeId child : tree.children(0))
    if (tree[child].visits > tree[best].visits) best = child;
  return tree.action(best);
}
/// All of the environment's interface, each step under the seed that it was given.
struct Seeded {
  using State = std::uint64_t;
  using Action = std::uint32_t;
  std::vector<Kind> kinds(State s) const { return s % 11 == 0 ? std::vector<Kind>() : std::vector<Kind>{0, 1}; }
  std::vector<Proposal<Action>> propose(State s, Kind kind, std::uint32_t n, const Context& context) const {
    std::vector<Proposal<Action>> some;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t word = mix64(context.seed.purpose("p").value() + context.first + i + kind + s);
      some.emplace_back(static_cast<Action>(word % 4), kind, 1.0F, word % 9 == 0 ? Reason::malformed : Reason::none);
    }
    return some;
  }
  State step(State s, Action a, const Context& context) const { return mix64(s + a + context.seed.value()); }
};

}  // namespace

TEST_CASE("the plain loop grows the tree that a task grows with window 1") {
  Seeded env;
  const auto judge = [](const Seeded&, std::uint64_t s, const Context& context) {
    Evaluation<std::uint64_t, double> e(static_cast<double>(mix64(s ^ context.seed.value()) % 1000) / 1000);
    e.known = s % 13 != 0;
    return e;
  };
  for (const auto expand : {Expand::all, Expand::one})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      Mcts engine({.simulations = 300, .width = 3, .max_depth = 6, .expand = expand}, judge);
      const auto loop = engine.search(env, 5, Seed(seed));
      CHECK(testing::broken_rule(loop) == "");
      CHECK(testing::tree_text(loop, shown) ==
            testing::tree_text(testing::complete(engine(env, 5, Seed(seed))), shown));
    }
}

TEST_CASE("the first simulations on the uniform tree are these") {
  // One child a simulation: 1 and 2 add those of the root, 3 goes below the better. Each adds its value to the root.
  UniformTree env({.branching = 2, .depth = 3});
  Mcts engine({.simulations = 5, .width = 2, .expand = Expand::one}, uniform_value);
  const auto tree = engine.search(env, env.root(), Seed(1));
  REQUIRE(tree.size() == 6);
  const double v1 = UniformTree::value(env.step({}, 0)), v2 = UniformTree::value(env.step({}, 1));
  CHECK(tree[1].parent == 0);
  CHECK(tree[2].parent == 0);
  const NodeId third = v1 >= v2 ? 1 : 2;
  CHECK(tree[3].parent == third);
  CHECK(tree[0].visits == 5);
  double sum = 0;
  for (NodeId id = 1; id < 6; ++id) sum += UniformTree::value(tree.state(id));
  CHECK(tree[0].total == doctest::Approx(sum));
}

TEST_CASE("a search goes on with a tree: so many simulations more, as if all had been made at once") {
  UniformTree env({.branching = 3, .depth = 4});
  Mcts whole({.simulations = 40, .width = 3}, uniform_value), half({.simulations = 20, .width = 3}, uniform_value);
  const auto expected = testing::tree_text(whole.search(env, env.root(), Seed(1)), shown);
  const auto loop = half.search(env, half.search(env, env.root(), Seed(1)));
  CHECK(loop[0].visits == 40);
  CHECK(loop.steps == 40);
  CHECK(testing::tree_text(loop, shown) == expected);
  const auto task = testing::complete(half(env, testing::complete(half(env, env.root(), Seed(1)))));
  CHECK(task.steps == 40);
  CHECK(testing::tree_text(task, shown) == expected);
}

TEST_CASE("whole trees are what they were: the golden file") {
  std::ifstream file(std::string(ESPALIER_TESTS_DIR) + "/golden/mcts_trees.txt");
  const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  UniformTree env({.branching = 3, .depth = 4});
  std::string text;
  for (const auto expand : {Expand::all, Expand::one})
    for (const std::uint32_t window : {1u, 4u}) {
      Mcts engine({.simulations = 12, .width = 3, .window = window, .expand = expand}, uniform_value, Puct());
      text += testing::tree_text(testing::complete(engine(env, env.root(), Seed(7, "golden"))), shown);
    }
  const bool same = text == golden;
  CHECK(same);
  if (!same) std::ofstream("mcts_trees.txt") << text;  // to be compared with the golden file
}

TEST_CASE("a bandit's best arm is pulled most, with UCT and with PUCT") {
  toy::Bandit env({0.2, 0.5, 0.9, 0.6});
  const auto pays = [](const toy::Bandit& b, toy::Bandit::State s) { return b.value(s); };
  const auto uct = Mcts({.simulations = 500, .width = 4}, pays).search(env, env.root(), Seed(1));
  CHECK(favourite(uct) == 2);
  CHECK(uct[0].visits == 500);
  CHECK(uct[3].mean() == doctest::Approx(0.9));
  const auto puct = Mcts({.simulations = 500, .width = 4}, pays, Puct({.c = 1})).search(env, env.root(), Seed(1));
  CHECK(favourite(puct) == 2);
  const auto good = [](const toy::Bandit&, toy::Bandit::State s) { return s == 2; };
  CHECK(Mcts({.simulations = 9, .width = 4}, good).search(env, env.root(), Seed(1))[0].total > 1);
}

TEST_CASE("a corridor is walked to its end") {
  toy::Corridor env(6);
  const auto value = [](const toy::Corridor& c, const toy::Corridor::State& s) { return c.value(s); };
  const auto tree = Mcts({.simulations = 400, .width = 2}, value).search(env, env.root(), Seed(1));
  CHECK(favourite(tree) == toy::Corridor::Action::walk);
  bool prize = false;
  for (NodeId id = 0; id < tree.size(); ++id)
    prize = prize || (tree.state(id).position == 6 && tree[id].mean() == doctest::Approx(1));
  CHECK(prize);
}

TEST_CASE("the environment is asked about each node a fixed number of times, however deep it is") {
  struct Counting : toy::Corridor {
    using Corridor::Corridor;
    mutable std::size_t kinds_asked = 0, proposed = 0, stepped = 0;
    auto kinds(const State& s) const { return ++kinds_asked, Corridor::kinds(s); }
    auto propose(const State& s, Kind k, std::uint32_t n, const Context& c) const {
      return ++proposed, Corridor::propose(s, k, n, c);
    }
    State step(const State& s, Action a) const { return ++stepped, Corridor::step(s, a); }
  };
  const auto value = [](const Counting& c, const Counting::State& s) { return c.value(s); };
  for (const std::uint32_t window : {0u, 1u, 8u}) {
    Counting env(3000);
    Mcts engine({.simulations = 3000, .width = 1, .window = std::max(window, 1u)}, value);
    const auto tree =
        window ? testing::complete(engine(env, env.root(), Seed(1))) : engine.search(env, env.root(), Seed(1));
    CHECK(tree.size() == 3001);
    CHECK(testing::broken_rule(tree) == "");
    CHECK(env.proposed == 3000);
    CHECK(env.stepped == 3000);
    CHECK(env.kinds_asked <= 3 * 3000);
  }
}

TEST_CASE("nodes at the depth limit are evaluated and get no children") {
  UniformTree env({.branching = 2, .depth = 10});
  const auto tree =
      Mcts({.simulations = 100, .width = 2, .max_depth = 2}, uniform_value).search(env, env.root(), Seed(1));
  CHECK(tree.size() == 7);
  CHECK(tree[0].visits == 100);
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.state(id).depth == 2) CHECK(tree[id].first_child == no_node);
}

TEST_CASE("a complete tree is searched on without harm") {
  UniformTree env({.branching = 3, .depth = 2});
  for (const auto expand : {Expand::all, Expand::one}) {
    const auto tree =
        Mcts({.simulations = 5000, .width = 3, .expand = expand}, uniform_value).search(env, env.root(), Seed(1));
    CHECK(tree.size() == 13);
    CHECK(tree[0].visits == 5000);
    CHECK(testing::broken_rule(tree) == "");
    for (NodeId id = 0; id < tree.size(); ++id)  // the same value again and again
      if (tree[id].status == Status::terminal)
        CHECK(tree[id].mean() == doctest::Approx(UniformTree::value(tree.state(id))));
  }
}

TEST_CASE("a search whose states cannot be valued ends with no value, not with zeros") {
  UniformTree env({.branching = 2, .depth = 3});
  const auto unknown = [](const UniformTree&, const UniformTree::State&) {
    Evaluation<UniformTree::State, double> e(0);
    e.known = false;
    return e;
  };
  for (const std::uint32_t window : {1u, 4u}) {
    Mcts engine({.simulations = 50, .width = 2, .window = window}, unknown);
    const auto tree = testing::complete(engine(env, env.root(), Seed(1)));
    CHECK(testing::broken_rule(tree) == "");
    CHECK(tree[0].visits == 0);
    CHECK(tree[0].total == 0);
  }
}

TEST_CASE("bad options of a search name themselves") {
  CHECK_THROWS_WITH_AS(Mcts({.simulations = 0}, uniform_value), "option 'simulations' is 0, allowed: 1 or more",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(Mcts({.width = 256}, uniform_value), "option 'width' is 256, allowed: 1 to 255",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(Mcts({.window = 0}, uniform_value), "option 'window' is 0, allowed: 1 to 65535",
                       std::invalid_argument);
  CHECK_THROWS_AS(Mcts({.window = 65536}, uniform_value), std::invalid_argument);
}

}  // namespace mcts_test
