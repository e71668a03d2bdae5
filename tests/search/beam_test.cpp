#include <espalier/search/beam.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include "../toy/corridor.hpp"
#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <string>

namespace beam_test {

using namespace espalier;
using toy::UniformTree;

/// The uniform tree with the score of a state being the sum along its path. (In an unnamed namespace of an included
/// file a function pointer that takes it crashes g++ 14 and 16 in coroutines.)
struct SumTree : UniformTree {
  using UniformTree::UniformTree;
  struct State : UniformTree::State {
    double sum = 0;
  };
  State root() const { return {}; }
  State step(const State& s, Action a) const {
    State next;
    static_cast<UniformTree::State&>(next) = UniformTree::step(s, a);
    next.sum = s.sum + value(next);
    return next;
  }
};

namespace {

double score(const SumTree&, const SumTree::State& s) { return s.sum; }

struct Best {
  double score = 0;
  std::string path;
};
Best best_of(std::uint32_t beam) {
  SumTree env({.branching = 3, .depth = 8});
  Beam search({.beam = beam, .width = 3, .max_depth = 8}, &score);
  const auto tree = testing::complete(search(env, env.root(), Seed(1)));
  CHECK(testing::broken_rule(tree) == "");
  Best best;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree[id].status != Status::terminal || tree.state(id).sum <= best.score) continue;
    best.score = tree.state(id).sum;
    best.path.clear();
    for (NodeId node : tree.path(id)) best.path += node ? std::to_string(tree.action(node)) : "";
  }
  return best;
}

}  // namespace

TEST_CASE("beam search finds the known sums on the uniform tree") {
  CHECK(best_of(1).score == doctest::Approx(5.957479651814984).epsilon(1e-14));
  for (std::uint32_t k : {2u, 3u, 4u}) CHECK(best_of(k).score == doctest::Approx(6.0094803929207075).epsilon(1e-14));
  for (std::uint32_t k : {8u, 20u, 6561u}) {
    CHECK(best_of(k).score == doctest::Approx(6.087749826907761).epsilon(1e-14));
    CHECK(best_of(k).path == "21221120");
  }
}

TEST_CASE("a beam as wide as the tree visits all of it") {
  SumTree env({.branching = 3, .depth = 4});
  Beam search({.beam = 100, .width = 3, .max_depth = 9}, &score);
  CHECK(testing::complete(search(env, env.root(), Seed(1))).size() == 1 + 3 + 9 + 27 + 81);
}

TEST_CASE("a beam of one on the corridor leaves the tree that is written here") {
  // values: walking 1/2 and 1, leaving 0. Depth 1: walk is kept. Depth 2: the end (terminal) is kept, the door is not.
  toy::Corridor env(2);
  Beam search({.beam = 1, .width = 2, .max_depth = 5},
              [](const toy::Corridor& c, const toy::Corridor::State& s) { return c.value(s); });
  const auto tree = testing::complete(search(env, env.root(), Seed(3)));
  REQUIRE(tree.size() == 5);
  const auto expect = [&](NodeId id, NodeId parent, double mean, Status status, Reason reason) {
    CAPTURE(id);
    CHECK(tree[id].parent == parent);
    CHECK(tree[id].mean() == mean);
    CHECK(tree[id].status == status);
    CHECK(tree[id].reason == reason);
  };
  expect(0, no_node, 0.375, Status::expanded, Reason::none);  // 0.5 + 0 + 1 + 0 over four
  CHECK(tree[0].total == 1.5);
  CHECK(tree[0].visits == 4);
  CHECK(tree[1].total == 1.5);
  expect(1, 0, 0.5, Status::expanded, Reason::none);  // 0.5 + 1 + 0 over three
  expect(2, 0, 0, Status::pruned, Reason::not_best);
  expect(3, 1, 1, Status::terminal, Reason::none);
  expect(4, 1, 0, Status::pruned, Reason::not_best);
}

TEST_CASE("bad options of a beam name themselves") {
  const auto f = [](const toy::Corridor&, const toy::Corridor::State&) { return 0.0; };
  CHECK_THROWS_WITH_AS(Beam({.beam = 0}, f), "option 'beam' is 0, allowed: 1 or more", std::invalid_argument);
  CHECK_THROWS_AS(Beam({.width = 0}, f), std::invalid_argument);
  CHECK_THROWS_AS(Beam({.max_depth = 0}, f), std::invalid_argument);
}

}  // namespace beam_test
