#include <espalier/policy/stop_rules.hpp>
#include <espalier/search/mcts.hpp>
#include <espalier/toy/bandit.hpp>

#include <doctest/doctest.h>

#include <string>

namespace stop_rules_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

const auto name = [](int state) { return std::to_string(state); };
const auto pays = [](const toy::Bandit& b, toy::Bandit::State s) { return b.value(s); };

/// A root with children that were visited so often.
Tree<int, int> visited(std::initializer_list<std::uint32_t> counts) {
  Tree<int, int> tree(0, Seed(1));
  for (const std::uint32_t n : counts) {
    const NodeId id = tree.add(0, 1, 1, 0, 1);
    tree[id].visits = n;
    tree[0].visits += n;
  }
  return tree;
}

}  // namespace

TEST_CASE("an answer's share is taken over the ends of rollouts") {
  Tree<int, int> tree(0, Seed(1));
  AnswerShare share({.share = 0.6, .at_least = 4}, name);
  const auto ends_with = [&](int answer) {
    tree.rollouts.push_back({0, answer, 1.0});
    return share(tree, 0);
  };
  CHECK_FALSE(ends_with(7));  // all say 7, but one answer is not four
  CHECK_FALSE(ends_with(7));
  CHECK_FALSE(ends_with(8));
  CHECK_FALSE(ends_with(9));  // 2 of 4
  CHECK(ends_with(7));        // 3 of 5 = 0.6
  CHECK_FALSE(ends_with(8));  // 3 of 6
}

TEST_CASE("a terminal node that was valued without rollouts is an answer, once") {
  Tree<int, int> tree(0, Seed(1));
  AnswerShare share({.share = 1, .at_least = 2}, name);
  for (int i = 0; i < 2; ++i) {
    const NodeId id = tree.add(0, 1, 5, 0, 1);
    tree[id].status = Status::terminal;
    tree[id].visits = 1;
  }
  CHECK_FALSE(share(tree, 1));
  tree[1].visits = 2;  // the same value again is no second answer
  CHECK_FALSE(share(tree, 1));
  CHECK(share(tree, 2));
}

TEST_CASE("the entropy of visits is -sum p ln p") {
  // 3, 1: -(3/4 ln 3/4 + 1/4 ln 1/4) = 0.5623351; 2, 2: ln 2 = 0.6931472; 4: 0
  CHECK(VisitEntropy::of(visited({3, 1}), 0) == doctest::Approx(0.5623351).epsilon(1e-6));
  CHECK(VisitEntropy::of(visited({2, 2, 0}), 0) == doctest::Approx(0.6931472).epsilon(1e-6));
  CHECK(VisitEntropy::of(visited({4}), 0) == 0);
  CHECK(VisitEntropy::of(visited({}), 0) == 0);
  VisitEntropy rule({.below = 0.6, .at_least = 8});
  CHECK_FALSE(rule(visited({3, 1}), 0));  // too early to say
  CHECK(rule(visited({6, 2}), 0));
  CHECK_FALSE(rule(visited({4, 4}), 0));
}

TEST_CASE("a search stops by its rule and is not said to have run out of anything") {
  // Arms worth 1 and 0: UCT with w = 0.1 stays with the first. Its share is 3/4 of the answers once 4 were given.
  toy::Bandit env({1, 0});
  const auto arm = [](toy::Bandit::State s) { return std::to_string(s); };
  Mcts shared({.simulations = 1000, .width = 2}, pays, Uct({.w = 0.1}), MeanBackup(),
              AnswerShare({.share = 0.5, .at_least = 2}, arm));
  const auto by_share = shared.search(env, env.root(), Seed(1));
  CHECK(by_share.steps == 2);  // both arms were pulled once: each has one answer of two
  CHECK(by_share.ending == SearchFacts::Ending::done);
  CHECK(shared.search(env, env.root(), Seed(2)).steps == 2);  // no tree inherits another's answers
  Mcts entropy({.simulations = 1000, .width = 2}, pays, Uct({.w = 0.1}), MeanBackup(),
               VisitEntropy({.below = 0.4, .at_least = 4}));
  // n : 1 visits have entropy below 0.4 first at n = 7: 0.3767702 (6 : 1 has 0.4101163)
  CHECK(entropy.search(env, env.root(), Seed(1)).steps == 8);
}

TEST_CASE("bad options of stop rules name themselves") {
  CHECK_THROWS_WITH_AS(AnswerShare({.share = 0}, name), "option 'share' is 0.000000, allowed: (0, 1]",
                       std::invalid_argument);
  CHECK_THROWS_AS(AnswerShare({.at_least = 0}, name), std::invalid_argument);
  CHECK_THROWS_AS(VisitEntropy({.below = 0}), std::invalid_argument);
  CHECK_THROWS_AS(VisitEntropy({.at_least = 0}), std::invalid_argument);
}

}  // namespace stop_rules_test
