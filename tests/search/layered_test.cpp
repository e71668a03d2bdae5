#include <espalier/search/layered.hpp>

#include "../toy/corridor.hpp"
#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <map>
#include <string>
#include <vector>

namespace layered_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

/// A hand-made problem over strings. Kinds: decide (draws stop and go), then memory and search settle what was asked.
///
///   ""  --decide--> samples: go:q, go:q, stop:a        (3 samples, two equal)
///   "q" --memory--> m1, m2, m1                         then, unless enough is known, --search--> s1, (unreadable), s1
///   "qm1", "qs1" --decide--> stop:a, stop:a, go:q      the vote stops
struct Questions {
  using State = std::string;
  using Action = std::string;
  static constexpr Kind decide = 10, stop = 1, go = 2, memory = 3, search = 4;

  std::vector<std::string> drawn{};  ///< "state kind first n", in order

  std::vector<Kind> kinds(const State& s) const {
    if (s.ends_with("a")) return {};
    if (s.ends_with("q")) return {memory, search};
    return {decide};
  }
  std::vector<Proposal<Action>> propose(const State& s, Kind kind, std::uint32_t n, const Context& context) {
    drawn.push_back(s + " " + std::to_string(kind) + " " + std::to_string(context.first) + "+" + std::to_string(n));
    context.ledger->operator[]("draw").completions += n;
    using P = Proposal<Action>;
    if (kind == memory) return {P("m1", memory), P("m2", memory), P("m1", memory)};
    if (kind == search) return {P("s1", search), P("", search, 1, Reason::malformed), P("s1", search)};
    if (s.empty()) return {P("q", go), P("q", go), P("a", stop)};
    return {P("a", stop), P("a", stop), P("q", go)};
  }
  State step(const State& s, const Action& a) const { return s + a; }
};

const auto memory_first =
    AllOf(Before(Vote(Questions::stop)), ThresholdSkip(Questions::memory, 0.6, ThresholdSkip::Of::best), Keep(TopK(1)));
/// Values by state; what is not named may not be asked for.
struct Table {
  std::map<std::string, double> values;
  double operator()(const Questions&, const std::string& s) const { return values.at(s); }
};

struct Shaky {  // sample i of three: i readable ones, as the state says
  using State = int;
  using Action = State;
  std::vector<Kind> kinds(int s) const { return s < 0 ? std::vector<Kind>() : std::vector<Kind>{0}; }
  std::vector<Proposal<int>> propose(int s, Kind kind, std::uint32_t n) const {
    std::vector<Proposal<int>> all;
    for (int i = 0; i < static_cast<int>(n); ++i)
      all.emplace_back(i, kind, 1.0F, i < s ? Reason::none : Reason::malformed);
    return all;
  }
  int step(int, int a) const { return -1 - a; }
};

struct Coins {
  using State = int;
  using Action = State;
  std::vector<Kind> kinds(int s) const { return s ? std::vector<Kind>() : std::vector<Kind>{0}; }
  std::vector<Proposal<int>> propose(int, Kind kind, std::uint32_t) const {
    return {{1, kind}, {2, kind}, {1, kind}, {1, kind}};
  }
  int step(int, int a) const { return a; }
};

auto grown(auto engine, Questions& env) {
  auto tree = testing::complete(engine(env, "", Seed(1)));
  CHECK(testing::broken_rule(tree) == "");
  return tree;
}

void expect(const auto& tree, NodeId id, NodeId parent, const std::string& state, double value, double share,
            Status status, Reason reason) {
  CAPTURE(id);
  REQUIRE(id < tree.size());
  CHECK(tree[id].parent == parent);
  CHECK(tree.state(id) == state);
  CHECK(tree[id].mean() == doctest::Approx(value));
  CHECK(tree[id].prior == doctest::Approx(share));
  CHECK(tree[id].status == status);
  CHECK(tree[id].reason == reason);
}

}  // namespace

TEST_CASE("memory above the threshold skips the search; the whole tree") {
  // 0 ""                     decide: 2 of 3 go, so the vote cuts stop
  //   1 go "q"      2/3      value 0.5
  //     3 m1 "qm1"  2/3      value 0.9, above 0.6: enough, search is never drawn
  //       5 stop    2/3      majority: the other decision is cut; value 1, terminal
  //       6 go      1/3      outvoted
  //     4 m2 "qm2"  1/3      value 0.2, not the best
  //   2 stop "a"    1/3      outvoted; valued all the same, as an end costs nothing: 0.25
  Questions env;
  Table table{{{"a", 0.25}, {"q", 0.5}, {"qm1", 0.9}, {"qm2", 0.2}, {"qm1a", 1.0}}};
  const auto tree = grown(Layered({.width = 3}, table, memory_first), env);
  REQUIRE(tree.size() == 7);
  expect(tree, 1, 0, "q", (0.5 + 0.9 + 0.2 + 1.0) / 4, 2.0 / 3, Status::expanded, Reason::none);
  expect(tree, 2, 0, "a", 0.25, 1.0 / 3, Status::pruned, Reason::outvoted);
  expect(tree, 3, 1, "qm1", (0.9 + 1.0) / 2, 2.0 / 3, Status::expanded, Reason::none);
  expect(tree, 4, 1, "qm2", 0.2, 1.0 / 3, Status::pruned, Reason::not_best);
  expect(tree, 5, 3, "qm1a", 1, 2.0 / 3, Status::terminal, Reason::none);
  expect(tree, 6, 3, "qm1q", 0, 1.0 / 3, Status::pruned, Reason::outvoted);
  CHECK(tree[0].visits == 5);
  CHECK(tree[0].total == doctest::Approx(0.25 + 0.5 + 0.9 + 0.2 + 1));
  CHECK(!tree[6].evaluated);
  REQUIRE(tree.skips.size() == 1);
  CHECK(tree.skips[0].node == 1);
  CHECK(tree.skips[0].kind == Questions::search);
  CHECK(env.drawn == std::vector<std::string>{" 10 0+3", "q 3 0+3", "qm1 10 0+3"});
  CHECK(tree.ledger.total().completions == 9);
  CHECK(tree.ending == SearchFacts::Ending::done);
}

TEST_CASE("memory below the threshold is cut and the search is drawn; what cannot be read is closed") {
  // as above, but 3 and 4 are cut, then: 5 s1 2/3 value 0.4, 6 unreadable; from "qs1": 7 stop 2/3, 8 go 1/3
  Questions env;
  Table table{{{"a", 0.25}, {"q", 0.5}, {"qm1", 0.6}, {"qm2", 0.2}, {"qs1", 0.4}, {"qs1a", 0.0}}};
  const auto tree = grown(Layered({.width = 3}, table, memory_first), env);
  REQUIRE(tree.size() == 9);
  expect(tree, 3, 1, "qm1", 0.6, 2.0 / 3, Status::pruned, Reason::below_threshold);
  expect(tree, 4, 1, "qm2", 0.2, 1.0 / 3, Status::pruned, Reason::below_threshold);
  expect(tree, 5, 1, "qs1", (0.4 + 0) / 2, 2.0 / 3, Status::expanded, Reason::none);
  expect(tree, 6, 1, "q", 0, 1.0 / 3, Status::pruned, Reason::malformed);
  expect(tree, 7, 5, "qs1a", 0, 2.0 / 3, Status::terminal, Reason::none);
  CHECK(tree.skips.empty());
  CHECK(env.drawn == std::vector<std::string>{" 10 0+3", "q 3 0+3", "q 4 0+3", "qs1 10 0+3"});
}

TEST_CASE("at values a policy is asked about the children that have one") {
  Questions env;
  Table table{{{"a", 0.25}, {"q", 0.5}, {"qm1", 0.9}, {"qm2", 0.2}, {"qs1", 0.4}, {"qm1a", 1.0}, {"qm1q", 0.1}}};
  const auto tree = grown(Layered({.width = 3}, table, TopK(1)), env);
  expect(tree, 2, 0, "a", 0.25, 1.0 / 3, Status::pruned, Reason::not_best);  // though it has its value before "q"
}

TEST_CASE("samples that an earlier kind gave are not drawn again") {
  // `decide` gives two sub-questions of three; a second kind `go` tops them up by one.
  struct TopUp : Questions {
    std::string topped = "r";
    std::vector<Kind> kinds(const State& s) const {
      return s.empty() ? std::vector<Kind>{decide, go} : std::vector<Kind>();
    }
    std::vector<Proposal<Action>> propose(const State& s, Kind kind, std::uint32_t n, const Context& context) {
      auto given = Questions::propose(s, kind, n, context);
      if (kind == go) given = {Proposal<Action>(topped, go)};
      return given;
    }
  };
  const auto value = [](const TopUp&, const std::string&) { return 0.5; };
  Layered engine({.width = 3}, value, Keep(TopK(9)));
  TopUp other;
  auto tree = testing::complete(engine(other, "", Seed(1)));
  CHECK(other.drawn == std::vector<std::string>{" 10 0+3", " 2 2+1"});
  REQUIRE(tree.size() == 4);
  CHECK(tree[1].prior == doctest::Approx(2.0 / 3));
  expect(tree, 3, 0, "r", 0.5, 1.0 / 3, Status::terminal, Reason::none);
  TopUp same;
  same.topped = "q";
  tree = testing::complete(engine(same, "", Seed(1)));
  CHECK(tree.size() == 3);  // the third sample says what the first two said
  CHECK(tree[1].prior == doctest::Approx(1));
}

TEST_CASE("a budget ends the search where it stands, with the ending on record") {
  Questions env;
  Table table{{{"a", 0.25}, {"q", 0.5}, {"qm1", 0.6}, {"qm2", 0.2}, {"qs1", 0.4}, {"qs1a", 0.0}}};
  for (const std::uint64_t calls : {3u, 4u, 6u, 9u, 12u, 100u}) {
    env.drawn.clear();
    const auto tree = grown(Layered({.width = 3, .budget = {.calls = calls}}, table, memory_first), env);
    // a stage of three calls is begun as long as less than the budget is spent
    CHECK(tree.ledger.total().completions == std::min<std::uint64_t>(12, (calls + 2) / 3 * 3));
    CHECK((tree.ending == SearchFacts::Ending::budget) == (calls < 12));
  }
}

TEST_CASE(
    "samples that a spent budget leaves without a value are cut, but for ends and for one in a tree without a value") {
  Questions env;
  std::vector<std::string> valued;
  const auto value = [&](const Questions&, const std::string& state) {
    valued.push_back(state);
    return 0.5;
  };
  // the states that a search with so many calls cuts for its budget
  const auto cut = [&](const std::string& root, std::uint64_t calls) {
    valued.clear();
    Layered engine({.width = 3, .budget = {.calls = calls}}, value);
    const auto tree = testing::complete(engine(env, root, Seed(1)));
    CHECK(tree.ending == SearchFacts::Ending::budget);
    std::vector<std::string> states;
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].reason == Reason::budget) states.push_back(tree.state(id));
    return states;
  };
  using States = std::vector<std::string>;
  CHECK(cut("", 3) == States{"q"});  // "a" is an end and costs nothing
  CHECK(valued == States{"a"});
  CHECK(cut("q", 3) == States{"qm2"});  // the likelier one is kept
  CHECK(valued == States{"qm1"});
  CHECK(cut("q", 6) == States{"qs1"});  // the first stage has values
  CHECK(valued == States{"qm1", "qm2"});
}

TEST_CASE("a root that is terminal is a tree of one node") {
  Questions env;
  Layered engine({.width = 3}, Table(), Keep(TopK(1)));
  const auto tree = testing::complete(engine(env, "a", Seed(1)));
  CHECK(tree.size() == 1);
  CHECK(tree[0].status == Status::terminal);
}

TEST_CASE("rollouts are the mean reward of what they reached, kept beside the tree") {
  // From position p of a corridor of 4, three rollouts walk (first proposal walk, second leave): n = 2 draws both.
  toy::Corridor env(4);
  const auto reward = [&](const toy::Corridor::State& s) { return env.value(s); };
  Rollout rollout({.n = 2, .max_steps = 3}, reward);
  Ledger ledger;
  const toy::Corridor::State start;
  auto evaluation = rollout(env, start, Context(Seed(1), 0, &ledger));
  REQUIRE(evaluation.terminals.size() == 2);
  CHECK(evaluation.terminals[0].first.position == 3);  // stopped by max_steps
  CHECK(evaluation.terminals[0].second == 0.75);
  CHECK(evaluation.terminals[1].first.out);
  CHECK(evaluation.value == 0.375);
  CHECK(evaluation.known);
  const toy::Corridor::State end{4, false};
  evaluation = rollout(env, end, Context(Seed(1), 0, &ledger));
  CHECK(evaluation.terminals.size() == 1);  // a terminal state is rewarded once
  CHECK(evaluation.value == 1);
}

TEST_CASE("a rollout that cannot be read does not count; if none can, the node is closed without a value") {
  Shaky env;
  Rollout rollout({.n = 3, .max_steps = 2}, [](int s) { return -static_cast<double>(s); });
  Ledger ledger;
  const Context context(Seed(1), 0, &ledger);
  CHECK(rollout(env, 3, context).value == 2);    // (1 + 2 + 3) / 3
  CHECK(rollout(env, 2, context).value == 1.5);  // (1 + 2) / 2
  CHECK(!rollout(env, 0, context).known);

  Tree<int, int> tree(0, Seed());
  tree.add(0, 0, 0, 0, 1);
  detail::enter_evaluation(tree, 1, rollout(env, 0, context), MeanBackup());
  CHECK(tree[1].reason == Reason::malformed);
  CHECK(tree[0].visits == 0);
  detail::enter_evaluation(tree, 0, rollout(env, 2, context), MeanBackup());
  CHECK(tree.rollouts.size() == 2);
  CHECK(tree.rollouts[1].state == -2);
}

TEST_CASE("rewards may be given to a group of ends at once") {
  struct Agreement {  // each end is worth the share of ends that are equal to it
    double operator()(int) const { return -1; }
    std::vector<double> group(std::span<const int> ends) const {
      std::vector<double> values;
      for (int e : ends) values.push_back(double(std::ranges::count(ends, e)) / static_cast<double>(ends.size()));
      return values;
    }
  };
  Coins env;
  Rollout rollout({.n = 4}, Agreement());
  Ledger ledger;
  CHECK(rollout(env, 0, Context(Seed(1), 0, &ledger)).value == 0.625);  // (3 * 0.75 + 0.25) / 4
}

TEST_CASE("a rollout follows a corridor of 100,000 steps") {
  toy::Corridor env(100'000);
  Rollout rollout({.n = 1, .max_steps = 200'000}, [&](const toy::Corridor::State& s) { return env.value(s); });
  Ledger ledger;
  CHECK(rollout(env, env.root(), Context(Seed(1), 0, &ledger)).value == 1);
}

TEST_CASE("dedup merges equal actions of equal kind and adds up their priors") {
  using P = Proposal<std::string>;
  const auto kept = detail::dedup(std::vector<P>{P("a", 1), P("b", 1), P("a", 2), P("a", 1, 0.5F),
                                                 P("b", 1, 1, Reason::malformed), P("b", 1, 1, Reason::malformed)});
  REQUIRE(kept.size() == 5);
  CHECK(kept[0].action == "a");
  CHECK(kept[0].prior == 1.5F);
  CHECK(kept[1].prior == 1);  // what could not be read is not merged
  CHECK(kept[2].kind == 2);
  CHECK(kept[3].closed == Reason::malformed);
  CHECK(detail::dedup(std::vector<P>()).empty());
}

}  // namespace layered_test
