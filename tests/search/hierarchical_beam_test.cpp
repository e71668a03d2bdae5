#include <espalier/llm/scheduler.hpp>
#include <espalier/search/hierarchical_beam.hpp>

#include <doctest/doctest.h>
#include <search/tree_text.hpp>

namespace hierarchical_beam_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

constexpr Kind plan = 1, query = 2;

/// Plans are letters, queries digits; a path is finished by the plan 'F' or after three plans.
struct TwoLevels {
  using State = std::string;
  using Action = char;
  std::string plans = "abF", queries = "12";
  std::vector<Kind> kinds(const State& s) const {
    if (!s.empty() && s.back() == 'F') return {};
    if (!s.empty() && s.back() >= 'a') return {query};
    if (s.size() >= 6) return {};
    return {plan};
  }
  std::vector<Proposal<char>> propose(const State&, Kind kind, std::uint32_t n) const {
    std::vector<Proposal<char>> all;
    for (const char c : kind == plan ? plans : queries)
      if (all.size() < n) all.emplace_back(c, kind);
    return all;
  }
  State step(const State& s, char a) const { return s + a; }
};

struct Dual {
  double plan_value = 0, query_value = 0;
  Dual& operator+=(const Dual& o) {
    plan_value += o.plan_value, query_value += o.query_value;
    return *this;
  }
  friend Dual operator*(Dual a, double f) { return {a.plan_value * f, a.query_value * f}; }
};
[[maybe_unused]] double utility(const Dual& d) { return d.query_value; }

/// b is the better plan, 2 the better query; F is good after two rounds only. The other number misleads on purpose.
struct Judge {
  Dual operator()(TwoLevels&, const std::string& s) const {
    const char last = s.back();
    if (last == 'F') return {s.size() > 4 ? 0.9 : 0.1, 0};
    return {last == 'b' ? 0.8 : 0.2, last == '2' ? 0.7 : last == 'a' ? 0.9 : 0.3};
  }
};

const auto rank = [](Kind kind, const Dual& d) { return kind == plan ? d.plan_value : d.query_value; };
const auto text = [](char c) { return std::string(1, c); };
using Search = HierarchicalBeam<Judge, decltype(rank), decltype(text)>;

std::string paths(const Search::TreeOf<TwoLevels>& tree, Status status) {
  std::string out;
  for (NodeId id = 1; id < tree.size(); ++id)
    if (tree[id].status == status) out += tree.state(id) + ' ';
  return out;
}

auto grow(Search::Options options, TwoLevels env = {}) {
  Search search(std::move(options), Judge(), rank, text);
  return testing::complete(search(env, "", Seed(1)));
}

}  // namespace

TEST_CASE("each level keeps its best by its own value; finished states stay") {
  const auto tree = grow({.levels = {{plan, {.width = 3, .keep = 1}}, {query, {.width = 2, .keep = 1}}}});
  CHECK(paths(tree, Status::terminal) == "F b2F b2b2F b2b2b1 b2b2b2 ");
  CHECK(paths(tree, Status::expanded) == "b b2 b2b b2b2 b2b2b ");
  CHECK(paths(tree, Status::pruned) == "a b1 b2a b2b1 b2b2a ");
  CHECK(tree[0].visits == tree.size() - 1);
}

TEST_CASE("all beams 1 is the greedy agent") {
  const auto tree = grow({.levels = {{plan, {.width = 1}}, {query, {.width = 1}}}});
  CHECK(paths(tree, Status::terminal) == "a1a1a1 ");
  CHECK(tree.size() == 7);
}

TEST_CASE("a level keeps so many of all its children at a depth, not of each parent's") {
  const auto tree =
      grow({.levels = {{plan, {.width = 2, .keep = 2}}, {query, {.width = 2, .keep = 3}}}, .max_depth = 4});
  // a, b; a1 a2 b1 b2, of which a2 b2 (0.7) and the older of a1, b1 (0.3); then b after a1, a2, b2 (0.8)
  CHECK(paths(tree, Status::pruned).substr(0, 3) == "b1 ");
  std::size_t at_four = 0;
  for (NodeId id = 0; id < tree.size(); ++id)
    at_four += tree.state(id).size() == 4 && tree[id].status != Status::pruned;
  CHECK(at_four == 3);
}

TEST_CASE("oversampled queries are thinned out by how different they are") {
  TwoLevels env;
  env.queries = "1123";
  const auto tree =
      grow({.levels = {{plan, {.width = 1}}, {query, {.width = 2, .oversample = 2, .diversity = Diversity::charset}}},
            .max_depth = 2},
           env);
  CHECK(tree.size() == 4);  // a, a1 (twice drawn), a2: all single characters differ alike, so the earlier ones
  CHECK(tree[2].prior == doctest::Approx(0.5));
  CHECK(tree.action(3) == '2');
}

TEST_CASE("a depth begins only if its draws, its values and what is kept can be paid for") {
  struct Counting : TwoLevels {
    std::vector<Proposal<char>> propose(const State& s, Kind kind, std::uint32_t n, const Context& context) const {
      (*context.ledger)["draw"].completions += n;
      return TwoLevels::propose(s, kind, n);
    }
  };
  const auto value = [](Counting& env, const std::string& s, const Context& context) {
    ++(*context.ledger)["value"].completions;
    return Judge()(env, s);
  };
  // depths by turns: plans 3 + 3, queries 2 + 2
  for (const auto& [calls, kept, steps] : {std::tuple(5U, 0U, 0U),
                                           {6U, 0U, 1U},
                                           {6U, 1U, 0U},
                                           {7U, 1U, 1U},
                                           {10U, 0U, 2U},
                                           {10U, 1U, 1U},
                                           {15U, 0U, 2U}}) {
    CAPTURE(calls);
    HierarchicalBeam search({.levels = {{plan, {.width = 3}}, {query, {.width = 2}}},
                             .budget = {.calls = calls, .kept = kept},
                             .value_calls = 1},
                            value, rank, text);
    Counting env;
    const auto tree = testing::complete(search(env, "", Seed(1)));
    CHECK(tree.steps == steps);
    CHECK(tree.ledger.total().completions <= calls - kept);
    CHECK(tree.ending == SearchFacts::Ending::budget);
  }
}

TEST_CASE("a budget ends the search between two depths; bad options are refused by name") {
  const auto tree = grow({.levels = {{plan, {}}, {query, {}}}, .budget = {.steps = 2}});
  CHECK(tree.ending == SearchFacts::Ending::budget);
  CHECK(tree.steps == 2);
  for (const Search::Level bad : {Search::Level{.width = 0}, Search::Level{.keep = 0}, Search::Level{.oversample = 0}})
    CHECK_THROWS_AS(Search({.levels = {{plan, bad}}}, Judge(), rank, text), std::invalid_argument);
  CHECK_THROWS_AS(Search({}, Judge(), rank, text), std::invalid_argument);
  const auto unknown = [](Kind, const Dual&) { return std::nan(""); };
  HierarchicalBeam search({.levels = {{plan, {}}}}, Judge(), unknown, text);
  TwoLevels env;
  CHECK_THROWS_WITH_AS((void)search.search(env, "", Seed(1)), "the rank of node 1 is not a number", TreeError);
}

}  // namespace hierarchical_beam_test
