// Rollouts whose steps become nodes.
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <set>
#include <utility>

namespace graft_test {

using namespace espalier;
using namespace espalier::detail;
using Expand = MctsOptions::Expand;
using toy::UniformTree;

namespace {

/// Counts what is asked of it, and which samples of which states.
struct Counting : UniformTree {
  using UniformTree::UniformTree;
  mutable std::size_t stepped = 0, drawn_twice = 0;
  mutable std::set<std::pair<std::uint64_t, std::uint32_t>> drawn{};
  auto propose(const State& s, Kind kind, std::uint32_t n, const Context& context) const {
    for (std::uint32_t i = 0; i < n; ++i) drawn_twice += !drawn.emplace(s.hash, context.first + i).second;
    return UniformTree::propose(s, kind, n, context);
  }
  State step(const State& s, Action a) const {
    ++stepped;
    return UniformTree::step(s, a);
  }
};
auto grow(Counting& env, MctsOptions options, std::uint32_t n, auto policy) {
  Mcts engine(std::move(options), Rollout({.n = n, .max_steps = 20}, &UniformTree::value, policy));
  return testing::complete(engine(env, env.root(), Seed(1)));
}

}  // namespace

TEST_CASE("a rollout's steps are nodes without visits below the node that it values") {
  // The first simulation adds child 0 of the root and rolls out twice, with actions 0 and 1, each on its own number.
  Counting env({.branching = 3, .depth = 3});
  const auto tree = grow(env, {.simulations = 1, .width = 3, .expand = Expand::one}, 2, Grafted());
  REQUIRE(tree.size() == 6);
  const NodeId parents[] = {no_node, 0, 1, 2, 1, 4};
  const std::uint32_t actions[] = {0, 0, 0, 0, 1, 1};
  const std::uint16_t drawn[] = {1, 2, 1, 0, 1, 0};
  for (NodeId id = 0; id < 6; ++id) {
    CAPTURE(id);
    CHECK(tree[id].parent == parents[id]);
    CHECK(tree.action(id) == actions[id]);
    CHECK(tree[id].drawn == drawn[id]);
    CHECK(tree[id].visits == (id < 2));
    CHECK(tree[id].evaluated == (id == 1));
    if (id) CHECK(tree.state(id).hash == env.UniformTree::step(tree.state(parents[id]), actions[id]).hash);
  }
  CHECK(tree.rollouts.size() == 2);
  CHECK(tree[0].mean() == doctest::Approx((UniformTree::value(tree.state(3)) + UniformTree::value(tree.state(5))) / 2));
}

TEST_CASE("what was rolled out is never paid for again") {
  for (const auto expand : {Expand::all, Expand::one})
    for (const std::uint32_t n : {1u, 3u}) {
      Counting env({.branching = 3, .depth = 7});
      const auto tree = grow(env, {.simulations = 300, .width = 3, .expand = expand}, n, Grafted());
      CHECK(testing::broken_rule(tree) == "");
      CHECK(tree[0].visits == 300);
      if (n == 1) {
        CHECK(env.drawn_twice == 0);
        CHECK(env.stepped == tree.size() - 1);  // every state that was ever reached is a node
      }
      Counting plain({.branching = 3, .depth = 7});
      const auto without =
          grow(plain, {.simulations = 300, .width = 3, .expand = expand}, n, detail::SameEnvironment());
      CHECK(plain.stepped > without.size() - 1);
      CHECK(tree.size() > without.size());
    }
}

TEST_CASE("grafts keep to the depth limit and to the widths") {
  Counting env({.branching = 3, .depth = 7});
  const auto tree = grow(env, {.simulations = 200, .width = 2, .max_depth = 3, .window = 8}, 4, Grafted());
  CHECK(testing::broken_rule(tree) == "");
  for (NodeId id = 0; id < tree.size(); ++id) {
    CHECK(tree.path(id).size() <= 4);
    CHECK(tree[id].drawn <= 2);
  }
}

TEST_CASE("widening over several kinds cannot be grafted, and says so") {
  struct TwoKinds : UniformTree {
    using UniformTree::UniformTree;
    std::vector<Kind> kinds(const State& s) const {
      return s.depth < 4 ? std::vector<Kind>{0, 1} : std::vector<Kind>();
    }
  };
  TwoKinds env({.branching = 3, .depth = 4});
  Mcts engine({.simulations = 9, .width = 3, .expand = Expand::one, .widen_k = 1},
              Rollout({.n = 1}, &UniformTree::value, Grafted()));
  CHECK_THROWS_AS(testing::complete(engine(env, env.root(), Seed(1))), std::invalid_argument);
}

}  // namespace graft_test
