#include <espalier/search/best_of_n.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <vector>

namespace best_of_n_test {

using namespace espalier;

namespace {

/// Two steps, each by the sample's own word: path i first says i, then `last[i]`.
struct Script {
  struct State {
    std::vector<int> said;
  };
  using Action = int;
  std::vector<int> last;
  static std::vector<Kind> kinds(const State& s) {
    return s.said.size() == 2 ? std::vector<Kind>() : std::vector<Kind>{0};
  }
  std::vector<Proposal<int>> propose(const State& s, Kind kind, std::uint32_t, const Context& context) const {
    if (s.said.empty()) return {Proposal<int>(static_cast<int>(context.first), kind)};
    const int word = last[static_cast<std::size_t>(s.said[0])];
    if (word == 0) return {Proposal<int>(0, kind, 1, Reason::malformed)};
    return {Proposal<int>(word, kind)};
  }
  static State step(State s, int action) {
    s.said.push_back(action);
    return s;
  }
};
const auto word = [](const Script&, const Script::State& s) { return static_cast<double>(s.said.back()); };

auto run(auto engine, std::vector<int> last) {
  Script env{std::move(last)};
  auto tree = testing::complete(engine(env, {}, Seed(1)));
  CHECK(testing::broken_rule(tree) == "");
  return tree;
}
/// What the selected end says; 0 if none is selected.
int selected(const auto& tree) {
  int said = 0, many = 0;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.annotation("selected", id) == 1) {
      said = 10 * tree.state(id).said[0] + tree.state(id).said[1];
      ++many;
    }
  CHECK(many <= 1);
  return said;
}

}  // namespace

TEST_CASE("best of N walks N whole paths and selects the end of highest value, the oldest of equals") {
  const auto tree = run(BestOfN({.n = 5}, word), {3, 7, 1, 7, 2});
  CHECK(tree.size() == 11);
  CHECK(selected(tree) == 17);  // path 1, not path 3
  CHECK(tree[0].visits == 5);
  CHECK(tree[0].mean() == doctest::Approx(4));
  CHECK(selected(run(BestOfN({.n = 1}, word), {3})) == 3);
}

TEST_CASE("paths that cannot be read are not chosen, and without others nothing is") {
  CHECK(selected(run(BestOfN({.n = 3}, word), {0, -5, 0})) == 5);  // path 1, which says -5
  const auto none = run(BestOfN({.n = 3}, word), {0, 0, 0});
  CHECK(none.annotations.empty());
  CHECK(none[0].visits == 0);
}

TEST_CASE("a value that is not known is no value") {
  const auto unknown = [](const Script&, const Script::State& s) {
    Evaluation<Script::State, double> e(s.said.back());
    e.known = s.said.back() < 7;
    return e;
  };
  CHECK(selected(run(BestOfN({.n = 3}, unknown), {3, 7, 1})) == 3);
}

TEST_CASE("a budget ends the paths; what has ended is chosen from") {
  const auto tree = run(BestOfN({.n = 4, .budget = {.steps = 1}}, word), {3, 7, 1, 7});
  CHECK(tree.ending == SearchFacts::Ending::budget);
  CHECK(tree.size() == 5);
  CHECK(tree.annotations.empty());
  CHECK_THROWS_WITH_AS(BestOfN({.n = 0}, word), "option 'n' is 0, allowed: 1 or more", std::invalid_argument);
}

}  // namespace best_of_n_test
