#include <espalier/search/mcts.hpp>
#include <espalier/search/reroot.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <cmath>
#include <string>

namespace reroot_test {

using namespace espalier;
using namespace espalier::detail;
using toy::UniformTree;

namespace {

std::string show(std::uint32_t action) { return std::to_string(action); }
std::string show(const UniformTree::State& s) { return std::to_string(s.hash); }
const auto shown = [](const auto& x) { return show(x); };
/// A value that depends on the node's seed, so that a wrong seed shows.
const auto seeded = [](const UniformTree&, const UniformTree::State& s, const Context& context) {
  ++(*context.ledger)["value"].completions;
  return static_cast<double>(mix64(s.hash ^ context.seed.value()) >> 11) * 0x1p-53;
};

}  // namespace

TEST_CASE("the subtree of a child keeps its numbers, in the order of its ids") {
  // 0 -> 1, 2; 1 -> 3; 2 -> 4, 5; 5 -> 6
  Tree<int, int> tree(10, Seed(7));
  const auto add = [&](NodeId parent, int action) { return tree.add(parent, action, 10 + action, 2, 0.25F); };
  add(0, 1), add(0, 2), add(1, 3), add(2, 4), add(2, 5), add(5, 6);
  for (NodeId id = 0; id < 7; ++id) {
    tree[id].visits = id + 1;
    tree[id].total = 0.5 * id;
  }
  tree[2].drawn = 2;
  tree[2].status = Status::expanded;
  tree[5].evaluated = true;
  tree.prune(4, Reason::not_best);
  tree.annotate("plan", 1, 0.1);
  tree.annotate("plan", 5, 0.9);
  tree.rollouts.push_back({1, 77, 0.5});
  tree.rollouts.push_back({6, 78, 0.75});
  tree.skips = {{3, 1}, {5, 2}};
  tree.remarks.push_back({"why", 4, "worse"});
  tree.ledger["step"].completions = 9;
  tree.steps = 12;

  const auto below = rerooted(tree, 2);
  REQUIRE(below.size() == 4);  // 2, 4, 5, 6
  const int states[] = {12, 14, 15, 16};
  const NodeId parents[] = {no_node, 0, 0, 2};
  const std::uint32_t visits[] = {3, 5, 6, 7};
  for (NodeId id = 0; id < 4; ++id) {
    CHECK(below.state(id) == states[id]);
    CHECK(below[id].parent == parents[id]);
    CHECK(below[id].visits == visits[id]);
    CHECK(below[id].total == 0.5 * (visits[id] - 1));
  }
  CHECK(below.children(0) == std::vector<NodeId>{1, 2});
  CHECK(below.children(2) == std::vector<NodeId>{3});
  CHECK(below[0].drawn == 2);
  CHECK(below[0].status == Status::expanded);
  CHECK(below[0].prior == 1);
  CHECK(below[1].reason == Reason::not_best);
  CHECK(below[2].evaluated);
  CHECK(below.seed.value() == Seed(7).child(1).value());  // the second child
  CHECK(below.annotation("plan", 2) == 0.9);
  CHECK(std::isnan(below.annotation("plan", 1)));
  REQUIRE(below.rollouts.size() == 1);
  CHECK(below.rollouts[0].node == 3);
  CHECK(below.rollouts[0].state == 78);
  REQUIRE(below.skips.size() == 1);
  CHECK(below.skips[0].node == 2);
  REQUIRE(below.remarks.size() == 1);
  CHECK(below.remarks[0].node == 1);
  CHECK(below.ledger.total().completions == 9);
  CHECK(below.steps == 12);
  CHECK(below.action(0) == 0);
  CHECK_THROWS_WITH_AS(rerooted(tree, 7), "the tree has no node 7", Error);
}

TEST_CASE("a tree at its root is itself") {
  UniformTree env({.branching = 3, .depth = 6});
  const auto tree = Mcts({.simulations = 80, .width = 3}, seeded).search(env, env.root(), Seed(1));
  CHECK(testing::tree_text(rerooted(tree, 0), shown) == testing::tree_text(tree, shown));
}

TEST_CASE("a search goes on in the subtree as it would have below the child, and pays only for what is new") {
  UniformTree env({.branching = 3, .depth = 9});
  Mcts engine({.simulations = 60, .width = 3, .expand = MctsOptions::Expand::one}, seeded);
  const auto tree = engine.search(env, env.root(), Seed(1));
  for (const NodeId child : tree.children(0)) {
    const auto below = rerooted(tree, child);
    CHECK(testing::broken_rule(below) == "");
    CHECK(below[0].visits == tree[child].visits);
    const auto more = engine.search(env, below);
    CHECK(testing::broken_rule(more) == "");
    CHECK(more[0].visits == tree[child].visits + 60);
    CHECK(more.ledger.total().completions == 120);
    CHECK(more.size() == below.size() + 60);
    // Nodes have the values that their seeds give, old ones and new ones.
    for (NodeId id = 0; id < more.size(); ++id)
      if (more[id].first_child == no_node)
        CHECK(more[id].mean() ==
              doctest::Approx(
                  static_cast<double>(mix64(more.state(id).hash ^ detail::seed_of(more, id).value()) >> 11) * 0x1p-53));
    // Law 1: going on twice with the same tree gives the same bytes.
    CHECK(testing::tree_text(engine.search(env, rerooted(tree, child)), shown) == testing::tree_text(more, shown));
  }
}

}  // namespace reroot_test
