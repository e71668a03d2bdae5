#include <espalier/search/best_first.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace best_first_test {

using namespace espalier;
using namespace espalier::detail;
using toy::UniformTree;

namespace {

/// Cities and roads; an action is the city that a road leads to.
///   A -> B C;  B -> D E;  C -> F;  D, E and F are ends
struct Roads {
  using State = char;
  using Action = char;
  static std::string from(char city) { return city == 'A' ? "BC" : city == 'B' ? "DE" : city == 'C' ? "F" : ""; }
  static std::vector<Kind> kinds(char city) { return from(city).empty() ? std::vector<Kind>() : std::vector<Kind>{0}; }
  static std::vector<Proposal<char>> propose(char city, Kind kind, std::uint32_t n) {
    std::vector<Proposal<char>> roads;
    for (const char to : from(city).substr(0, n)) roads.emplace_back(to, kind);
    return roads;
  }
  static char step(char, char to) { return to; }
};
/// The uniform tree, where a path lacks what its values are below 1.
struct LossTree : UniformTree {
  using UniformTree::UniformTree;
  struct State : UniformTree::State {
    double lost = 0;
  };
  State step(const State& s, Action a) const {
    State next;
    static_cast<UniformTree::State&>(next) = UniformTree::step(s, a);
    next.lost = s.lost + 1 - value(next);
    return next;
  }
};

/// What the cities are worth.
const auto value = [](const Roads&, char city) {
  const std::map<char, double> values{{'B', 0.5}, {'C', 0.6}, {'D', 0.9}, {'E', 0.1}, {'F', 0.4}};
  return values.at(city);
};
using Engine = BestFirst<decltype(value)>;
auto travel(const Engine::Options& options, char from = 'A') {
  Roads env;
  Engine engine(options, value);
  auto tree = testing::complete(engine(env, from, Seed(1)));
  CHECK(testing::broken_rule(tree) == "");
  return tree;
}
/// The cities in the order in which they were added.
std::string cities(const auto& tree) {
  std::string text;
  for (NodeId id = 0; id < tree.size(); ++id) text += tree.state(id);
  return text;
}

}  // namespace

TEST_CASE("the best state waiting is looked into first, and the first finished one to have its turn is the answer") {
  // A gives B 0.5 and C 0.6; C gives F 0.4; B is best: D 0.9, E 0.1; D is best and finished.
  const auto tree = travel({.width = 3});
  CHECK(cities(tree) == "ABCFDE");
  CHECK(tree.steps == 3);
  CHECK(tree.ending == SearchFacts::Ending::done);
  CHECK(tree[0].visits == 5);
  CHECK(tree[0].total == doctest::Approx(2.5));
  CHECK(tree[1].mean() == doctest::Approx(0.5));  // B: 0.5, 0.9 and 0.1 over three
}

TEST_CASE("a search for several answers goes on; one that finds no more ends with what there is") {
  CHECK(cities(travel({.width = 3, .answers = 2})) == "ABCFDE");  // D, then F
  const auto all = travel({.width = 3, .answers = 9});
  CHECK(all.ending == SearchFacts::Ending::done);
  CHECK(all.steps == 3);
}

TEST_CASE("limits end a search with what was found") {
  const auto two = travel({.width = 3, .expansions = 2});
  CHECK(two.ending == SearchFacts::Ending::budget);
  CHECK(cities(two) == "ABCF");
  const auto one = travel({.width = 3, .budget = {.steps = 1}});
  CHECK(one.ending == SearchFacts::Ending::budget);
  CHECK(cities(one) == "ABC");
  CHECK(cities(travel({.width = 3, .max_depth = 1})) == "ABC");
  // an expansion asks for three samples and three values
  const auto short_of = travel({.width = 3, .budget = {.calls = 5}, .value_calls = 1});
  CHECK(short_of.ending == SearchFacts::Ending::budget);
  CHECK(cities(short_of) == "A");
  CHECK(cities(travel({.width = 3, .budget = {.calls = 6}, .value_calls = 1})) == "ABCFDE");  // none of these is paid
  CHECK(cities(travel({.width = 1})) == "ABD");
  CHECK(cities(travel({}, 'F')) == "F");
}

TEST_CASE("of equally good states the one of the higher prior, then the older is looked into") {
  struct Twins : Roads {
    float prior = 0.5F;
    std::vector<Proposal<char>> propose(char city, Kind kind, std::uint32_t n) const {
      auto roads = Roads::propose(city, kind, n);
      if (city == 'A') roads[1].prior = prior;
      return roads;
    }
  };
  const auto same = [](const Twins&, char) { return 0.5; };
  for (const float prior : {1.0F, 2.0F}) {
    Twins env;
    env.prior = prior;
    BestFirst engine({.width = 2, .expansions = 2}, same);
    CHECK(cities(testing::complete(engine(env, 'A', Seed(1)))) == (prior > 1 ? "ABCF" : "ABCDE"));
  }
}

TEST_CASE("where a value never grows along a path, the first answer is the best of all") {
  // A path of 8 lacks 8 less the sum of its values, of which a beam as wide as the tree finds 6.087749826907761.
  const auto at_best = [](const LossTree&, const LossTree::State& s) { return -s.lost; };
  LossTree loss({.branching = 3, .depth = 8});
  BestFirst engine({.width = 3, .expansions = 10'000}, at_best);
  const auto tree = testing::complete(engine(loss, {}, Seed(1)));
  CHECK(tree.ending == SearchFacts::Ending::done);
  CHECK(tree.size() < 9841);  // not all of the tree
  double least = 8;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree[id].status == Status::terminal) least = std::min(least, tree.state(id).lost);
  CHECK(8 - least == doctest::Approx(6.087749826907761).epsilon(1e-14));
}

TEST_CASE("bad options of a best-first search name themselves") {
  CHECK_THROWS_WITH_AS(Engine({.width = 0}, value), "option 'width' is 0, allowed: 1 or more", std::invalid_argument);
  CHECK_THROWS_AS(Engine({.expansions = 0}, value), std::invalid_argument);
  CHECK_THROWS_AS(Engine({.answers = 0}, value), std::invalid_argument);
  CHECK_THROWS_AS(Engine({.max_depth = 0}, value), std::invalid_argument);
  CHECK_THROWS_AS(Engine({.budget = {.usd = 1}}, value), std::invalid_argument);
}

}  // namespace best_first_test
