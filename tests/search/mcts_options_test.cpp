// What each option of the tree search does, on problems small enough to say beforehand what must come out.
#include <espalier/search/mcts_task.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include "../../benchmarks/two_players.hpp"
#include "../toy/bandit.hpp"
#include "../toy/corridor.hpp"
#include <doctest/doctest.h>
#include <search/tree_text.hpp>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace mcts_options_test {

using namespace espalier;
using namespace espalier::detail;
using Collision = MctsOptions::Collision;
using Expand = MctsOptions::Expand;
using toy::UniformTree;

namespace {

std::string show(std::uint32_t action) { return std::to_string(action); }
std::string show(const UniformTree::State& s) { return std::to_string(s.hash); }
const auto shown = [](const auto& x) { return show(x); };
const auto uniform_value = [](const UniformTree&, const UniformTree::State& s) { return UniformTree::value(s); };
const auto pays = [](const toy::Bandit& b, toy::Bandit::State s) { return b.value(s); };

/// Values a state of the uniform tree, counts how often, and enters what a call costs.
struct Counted {
  std::map<std::uint64_t, std::uint32_t>* calls;
  double operator()(const UniformTree&, const UniformTree::State& s, const Context& context) const {
    ++(*calls)[s.hash];
    Ledger::Costs& costs = (*context.ledger)["value"];
    ++costs.completions;
    costs.prompt_tokens += 100;
    costs.completion_tokens += 10;
    return UniformTree::value(s);
  }
};
/// How often each state was valued, and the tree of it.
template <class Select = Uct>
struct Counting {
  std::map<std::uint64_t, std::uint32_t> calls{};
  Tree<UniformTree::State, std::uint32_t> tree{};
  Counting(const MctsOptions& options, UniformTree env, Select select = Select()) {
    Mcts engine(options, Counted{&calls}, select);
    tree = testing::complete(engine(env, env.root(), Seed(1)));
  }
};
std::vector<std::uint32_t> child_visits(const auto& tree, NodeId parent = 0) {
  std::vector<std::uint32_t> counts;
  for (const NodeId id : tree.children(parent)) counts.push_back(tree[id].visits);
  return counts;
}

}  // namespace

TEST_CASE("simulations under way are taken out exactly: visits are own evaluations and the visits of the children") {
  for (const std::uint32_t window : {1u, 8u, 32u})
    for (const auto expand : {Expand::all, Expand::one})
      for (const auto collision : {Collision::wait, Collision::evaluate}) {
        CAPTURE(window);
        CAPTURE(int(collision));
        const MctsOptions options{
            .simulations = 400, .width = 3, .window = window, .expand = expand, .collision = collision};
        const Counting<> run(options, UniformTree({.branching = 3, .depth = 12}));
        const auto& tree = run.tree;
        CHECK(tree[0].visits == 400);
        std::uint32_t several = 0;
        for (NodeId id = 0; id < tree.size(); ++id) {
          CHECK(tree[id].pending == 0);
          std::uint32_t below = 0;
          for (const std::uint32_t n : child_visits(tree, id)) below += n;
          const auto calls = run.calls.find(tree.state(id).hash);
          const std::uint32_t own = calls == run.calls.end() ? 0 : calls->second;
          CHECK(tree[id].visits == own + below);
          several += own > 1;
        }
        CHECK((several > 0) == (collision == Collision::evaluate && window > 1));
        CHECK(tree.ledger.total().completions == 400);  // every simulation paid for one value, and each is in the tree
      }
}

TEST_CASE("each value of a node is drawn under a seed of its own") {
  // One of two actions, so that most growths bring nothing new and their simulations select again.
  struct Twins {
    struct State {
      std::uint64_t path = 1;
    };
    using Action = std::uint32_t;
    std::vector<Kind> kinds(const State&) const { return {0}; }
    std::vector<Proposal<Action>> propose(const State&, Kind, std::uint32_t, const Context& context) const {
      return {Proposal<Action>(Random(context.seed.child(1000 + context.first)).below(2), 0)};
    }
    State step(const State& s, Action a) const { return {mix64(s.path + a)}; }
  };
  Twins env;
  std::set<std::uint64_t> seeds;
  std::uint32_t values = 0;
  const auto value = [&](const Twins&, const Twins::State&, const Context& context) {
    ++values;
    seeds.insert(context.seed.value());
    return Random(context.seed).uniform();
  };
  const MctsOptions options{
      .simulations = 300, .width = 6, .window = 16, .expand = Expand::one, .collision = Collision::evaluate};
  Mcts engine(options, value);
  testing::complete(engine(env, Twins::State(), Seed(1)));
  CHECK(values > 100);
  CHECK(seeds.size() == values);
}

TEST_CASE("one more value of a node counts only if it is known") {
  // The first simulation grows the root, the next seven value it, which nobody can. The other twelve have a value each.
  UniformTree env({.branching = 3, .depth = 12});
  const auto root = env.root().hash;
  const auto value = [=](UniformTree&, const UniformTree::State& s, const Context&) {
    Evaluation<UniformTree::State, double> evaluation(UniformTree::value(s));
    evaluation.known = s.hash != root;
    return evaluation;
  };
  Mcts engine({.simulations = 20, .width = 3, .window = 8, .collision = Collision::evaluate}, value);
  const auto tree = testing::complete(engine(env, env.root(), Seed(1)));
  CHECK(tree[0].status == Status::expanded);
  CHECK(tree[0].visits == 13);
  CHECK(tree.steps == 20);
}

TEST_CASE("pulls that are under way avoid each other") {
  // Arms worth 1, and three pulls under way at a time. A selection sees two others, each of which counts as a visit, so
  // it takes the third arm; alone, it would stay with the first.
  toy::Bandit env({1, 1, 1});
  Mcts engine({.simulations = 9, .width = 3, .window = 3}, pays, Uct({.w = 0.1}));
  CHECK(child_visits(testing::complete(engine(env, env.root(), Seed(1)))) == std::vector<std::uint32_t>{3, 3, 3});
  Mcts serial({.simulations = 9, .width = 3, .window = 1}, pays, Uct({.w = 0}));
  CHECK(child_visits(testing::complete(serial(env, env.root(), Seed(1)))) == std::vector<std::uint32_t>{7, 1, 1});
}

TEST_CASE("what a search chooses depends neither on the zero of its values nor on their unit") {
  // Values v become zero + unit v, and with them the range, the number of the first-play rule and the weight.
  const auto choices = [](double zero, double unit, FirstPlay rule, const MctsOptions& given) {
    MctsOptions options = given;
    options.range = {zero, zero + unit};
    UniformTree env({.branching = 3, .depth = 6});
    const auto value = [=](UniformTree&, const UniformTree::State& s) { return zero + unit * UniformTree::value(s); };
    const auto chosen = [&](auto select) {
      Mcts engine(options, value, select);
      const auto tree = testing::complete(engine(env, env.root(), Seed(1)));
      std::vector<std::uint64_t> numbers{tree.choices, tree.explored};
      for (NodeId id = 0; id < tree.size(); ++id) numbers.insert(numbers.end(), {tree[id].parent, tree[id].visits});
      return numbers;
    };
    auto both = chosen(Uct({.w = 0.5 * unit, .unvisited = zero + 0.4 * unit, .first_play = rule}));
    const auto puct = chosen(Puct({.c = 2 * unit, .unvisited = zero + 0.4 * unit, .first_play = rule}));
    both.insert(both.end(), puct.begin(), puct.end());
    return both;
  };
  for (const std::uint32_t window : {1u, 4u, 32u})
    for (const auto collision : {Collision::wait, Collision::evaluate})
      for (const auto expand : {Expand::all, Expand::one})
        for (const auto rule : {FirstPlay::infinite, FirstPlay::parent, FirstPlay::constant}) {
          CAPTURE(window);
          CAPTURE(int(rule));
          const MctsOptions options{
              .simulations = 300, .width = 3, .window = window, .expand = expand, .collision = collision};
          const auto expected = choices(0, 1, rule, options);
          CHECK(choices(-1, 1, rule, options) == expected);
          CHECK(choices(100, 1, rule, options) == expected);
          CHECK(choices(-20, 16, rule, options) == expected);
        }
}

TEST_CASE("which nodes get values of their own") {
  // Three children of the root, each with three. The root is never valued, and a node grows at a simulation of its own.
  const auto grow = [](MctsOptions::Values values, std::uint32_t simulations, std::uint32_t window = 1) {
    MctsOptions options{.simulations = simulations, .width = 3, .window = window, .values = values};
    UniformTree env({.branching = 3, .depth = 2});
    Mcts engine(options, uniform_value);
    auto tree = testing::complete(engine(env, env.root(), Seed(1)));
    if (window == 1)
      CHECK(testing::tree_text(tree, shown) == testing::tree_text(engine.search(env, env.root(), Seed(1)), shown));
    return tree;
  };
  using Values = MctsOptions::Values;
  CHECK(child_visits(grow(Values::first, 3)) == std::vector<std::uint32_t>{1, 1, 1});
  CHECK(grow(Values::first, 3).size() == 10);  // the second and third grew, and their first children were valued
  CHECK(child_visits(grow(Values::each, 3)) == std::vector<std::uint32_t>{1, 1, 1});
  CHECK(grow(Values::each, 3).size() == 4);
  CHECK(child_visits(grow(Values::leaf, 4)) == std::vector<std::uint32_t>{1, 1, 1});  // the root took the first value
  CHECK(grow(Values::leaf, 4)[0].visits == 4);
  CHECK(grow(Values::leaf, 1).size() == 1);
  CHECK(child_visits(grow(Values::all, 1)) == std::vector<std::uint32_t>{1, 1, 1});
  CHECK(grow(Values::all, 1)[0].visits == 3);
  CHECK(grow(Values::all, 2)[0].visits == 6);
  for (const auto values : {Values::each, Values::leaf, Values::all})
    for (const std::uint32_t window : {1u, 4u, 16u}) {
      const auto tree = grow(values, 9, window);
      CHECK(tree[0].evaluated == (values == Values::leaf));
      for (NodeId id = 1; id < tree.size(); ++id)
        if (tree[id].first_child != no_node) CHECK(tree[id].evaluated);
    }
}

TEST_CASE(
    "values = leaf counts as OpenSpiel does: a leaf is valued, the root too, and grows when it is reached again") {
  // What MCTSBot of open_spiel 2.0.2 (Python) gives for tic-tac-toe at uct_c = sqrt(2), solve = False, moves in their
  // order and this evaluator: the visits of the first moves, and the number of nodes.
  const auto evaluate = [](const toy::TwoPlayers&, const toy::TwoPlayers::State& s) {
    return toy::TwoPlayers::over(s) ? toy::TwoPlayers::value(s) : (s.marks[0] * 31 + s.marks[1] * 17) % 101 / 50.0 - 1;
  };
  toy::TwoPlayers game;
  const auto check = [&](std::uint32_t simulations, const std::vector<std::uint32_t>& visits, std::size_t nodes) {
    CAPTURE(simulations);
    Mcts engine({.simulations = simulations, .width = 9, .values = MctsOptions::Values::leaf}, evaluate);
    const auto tree = engine.search(game, {}, Seed(1));
    CHECK(child_visits(tree) == visits);
    CHECK(tree.size() == nodes);
    CHECK(tree[0].visits == simulations);
    const auto task = testing::complete(engine(game, {}, Seed(1)));
    for (NodeId id = 0; id < tree.size(); ++id) {
      CHECK(task[id].visits == tree[id].visits);
      const auto below = child_visits(tree, id);
      const auto sum = std::accumulate(below.begin(), below.end(), 0u);
      if (tree[id].first_child != no_node) CHECK(tree[id].visits == sum + 1);
    }
  };
  check(1, {}, 1);
  check(2, {1, 0, 0, 0, 0, 0, 0, 0, 0}, 10);
  check(11, {1, 1, 1, 1, 2, 1, 1, 1, 1}, 18);
  check(50, {5, 6, 4, 5, 4, 5, 7, 7, 6}, 82);
  check(1000, {113, 111, 72, 109, 90, 117, 154, 90, 143}, 2248);
  // Later, scores that are equal on paper differ by rounding. MCTSBot gives this with the operations of Uct.
  check(5000, {1103, 217, 286, 212, 184, 212, 1031, 880, 874}, 8957);
}

TEST_CASE("values = leaf on a bandit, by hand") {
  // The root's own value is 0. w = 1, arms 1 and 0, N_parent is the number of simulations so far:
  // N = 3: 1 + sqrt(ln 3) beside 0 + sqrt(ln 3): the first. N = 4: 1 + sqrt(ln 4 / 2) = 1.83 beside sqrt(ln 4) = 1.18.
  // N = 8: 1 + sqrt(ln 8 / 6) = 1.589 beside sqrt(ln 8) = 1.442. N = 11: 1 + sqrt(ln 11 / 9) = 1.516 beside 1.5485.
  toy::Bandit env({1, 0});
  const auto visits = [&](std::uint32_t simulations) {
    Mcts engine({.simulations = simulations, .width = 2, .values = MctsOptions::Values::leaf}, pays, Uct({.w = 1}));
    const auto tree = engine.search(env, env.root(), Seed(1));
    CHECK(tree[0].evaluated);
    CHECK(tree[0].mean() == doctest::Approx(tree[1].visits / double(simulations)));
    return child_visits(tree);
  };
  using Counts = std::vector<std::uint32_t>;
  CHECK(visits(3) == Counts{1, 1});
  CHECK(visits(4) == Counts{2, 1});
  CHECK(visits(11) == Counts{9, 1});
  CHECK(visits(12) == Counts{9, 2});
}

TEST_CASE("with `solve` each value enters once and the search ends, whatever was under way") {
  using Values = MctsOptions::Values;
  for (const std::uint32_t window : {1u, 4u, 16u})
    for (const auto values : {Values::first, Values::each, Values::leaf, Values::all}) {
      CAPTURE(window);
      const Counting<> run({.simulations = 1000, .width = 2, .window = window, .values = values, .solve = true},
                           UniformTree({.branching = 2, .depth = 3}));
      CHECK(run.tree[0].solved);
      CHECK(testing::broken_rule(run.tree) == "");
      CHECK(run.tree.steps <= 15 * window);
      CHECK(run.tree[0].visits == run.calls.size());
      CHECK(run.tree[0].visits == (values == Values::first ? 11 : values == Values::leaf ? 15 : 14));
      for (const auto& [hash, calls] : run.calls) CHECK(calls == 1);
    }
}

TEST_CASE("progressive widening grows max(1, floor(k N^alpha)) children for N visits") {
  toy::Bandit env(std::vector<double>(20, 0.5));
  const auto children = [&](std::uint32_t simulations, double k, double alpha) {
    Mcts engine({.simulations = simulations, .width = 20, .expand = Expand::one, .widen_k = k, .widen_alpha = alpha},
                pays);
    const auto tree = engine.search(env, env.root(), Seed(1));
    CHECK(tree[0].visits == simulations);
    return tree.children(0).size();
  };
  // Simulation i sees N = i - 1 visits; k = 1, alpha = 1/2: a second child at N = 4, a third at 9, a fourth at 16.
  const std::size_t expected[][2] = {{1, 1},  {4, 1},  {5, 2},    {9, 2},    {10, 3},
                                     {16, 3}, {17, 4}, {400, 19}, {401, 20}, {1000, 20}};
  for (const auto& [simulations, count] : expected) CHECK(children(std::uint32_t(simulations), 1, 0.5) == count);
  CHECK(children(10, 2, 0.5) == 6);  // floor(2 sqrt(9))
  CHECK(children(6, 1, 1) == 5);     // floor(5)
}

TEST_CASE("widening gives the kinds their turns") {
  struct TwoKinds : toy::Bandit {
    using Bandit::Bandit;
    static std::vector<Kind> kinds(State s) { return s == none ? std::vector<Kind>{3, 5} : std::vector<Kind>(); }
    static std::vector<Proposal<Action>> propose(State, Kind kind, std::uint32_t, const Context& context) {
      return {Proposal<Action>(context.first, kind)};
    }
  };
  TwoKinds env(std::vector<double>(20, 0.5));
  Mcts engine({.simulations = 30, .width = 20, .expand = Expand::one, .widen_k = 1}, pays);
  const auto tree = engine.search(env, env.root(), Seed(1));
  REQUIRE(tree.children(0).size() == 5);
  const Kind kinds[] = {3, 5, 3, 5, 3};
  const std::uint32_t samples[] = {0, 0, 1, 1, 2};
  for (NodeId i = 0; i < 5; ++i) {
    CHECK(tree[i + 1].kind == kinds[i]);
    CHECK(tree.action(i + 1) == samples[i]);
  }
}

TEST_CASE("with `solve` a finite tree is seen through: each leaf is visited once, then the search ends") {
  for (const auto expand : {Expand::all, Expand::one}) {
    const Counting<> run({.simulations = 1000, .width = 2, .expand = expand, .solve = true},
                         UniformTree({.branching = 2, .depth = 3}));
    const auto& tree = run.tree;
    CHECK(tree.size() == 15);
    CHECK(tree.ending == SearchFacts::Ending::done);
    CHECK(tree[0].solved);
    std::uint32_t leaves = 0;
    for (NodeId id = 0; id < tree.size(); ++id) {
      CHECK(tree[id].solved);
      if (tree[id].first_child != no_node) continue;
      CHECK(tree[id].status == Status::terminal);
      CHECK(tree[id].visits == 1);
      ++leaves;
    }
    CHECK(leaves == 8);
    // One child a simulation: 14 nodes. All at once: a simulation values the first child of what it grows or a leaf.
    CHECK(tree.steps == (expand == Expand::one ? 14 : 11));
    CHECK(tree[0].visits == tree.steps);
    for (const auto& [hash, calls] : run.calls) CHECK(calls == 1);
  }
}

TEST_CASE("a solved arm is not pulled again, and its value stays") {
  toy::Bandit env({0.9, 0.1, 0.5});
  const auto tree = Mcts({.simulations = 100, .width = 3, .solve = true}, pays).search(env, env.root(), Seed(1));
  CHECK(tree.steps == 3);
  CHECK(child_visits(tree) == std::vector<std::uint32_t>{1, 1, 1});
  CHECK(tree[0].mean() == doctest::Approx(0.5));
}

TEST_CASE("a budget ends the search with the best so far, and the tree says so") {
  const auto grow = [](Budget budget, std::uint32_t window = 1) {
    MctsOptions options{.simulations = 1000, .width = 3, .window = window, .expand = Expand::one};
    options.budget = std::move(budget);
    return Counting<>(options, UniformTree({.branching = 3, .depth = 12})).tree;
  };
  const auto ends_after = [&](const Budget& budget, std::uint64_t steps) {
    const auto tree = grow(budget);
    CHECK(tree.ending == SearchFacts::Ending::budget);
    CHECK(tree.steps == steps);
    CHECK(tree.size() == steps + 1);
    CHECK(tree.ledger.total().completions == steps);
    CHECK(testing::broken_rule(tree) == "");
  };
  ends_after({.calls = 20}, 20);
  ends_after({.tokens = 2200}, 20);  // 110 a call
  ends_after({.tokens = 2201}, 21);
  ends_after({.input_tokens = 1000}, 10);
  ends_after({.usd = 0.006, .price_in = 10, .price_out = 50}, 4);  // 100 * 10 + 10 * 50 = 1500 millionths a call
  ends_after({.steps = 33}, 33);
  CHECK(grow({.calls = 5000}).ending == SearchFacts::Ending::done);
  // What is under way when the budget ends is merged: at most the window beyond.
  const auto windowed = grow({.calls = 100}, 16);
  CHECK(windowed.ending == SearchFacts::Ending::budget);
  CHECK(windowed.ledger.total().completions == 115);
  CHECK(windowed[0].visits == 115);
}

TEST_CASE("a search that its clock ended is replayed to the byte by its steps") {
  for (const std::uint32_t window : {1u, 8u}) {
    MctsOptions options{.simulations = 1000, .width = 3, .window = window};
    double time = 100;
    options.budget.seconds = 25;
    options.budget.clock = [&time] { return time += 0.5; };
    const auto timed = Counting<>(options, UniformTree({.branching = 3, .depth = 12})).tree;
    CHECK(timed.ending == SearchFacts::Ending::budget);
    CHECK(timed.steps == 49);  // the 50th look is 25 seconds after the first
    options.budget = {.steps = timed.steps};
    const auto replayed = Counting<>(options, UniformTree({.branching = 3, .depth = 12})).tree;
    CHECK(testing::tree_text(replayed, shown) == testing::tree_text(timed, shown));
  }
}

TEST_CASE("a budget that cannot be kept is refused") {
  CHECK_THROWS_WITH_AS(Mcts({.budget = {.usd = 1}}, uniform_value),
                       "option 'usd' is 1.000000, allowed: 0 without a price", std::invalid_argument);
  CHECK_THROWS_WITH_AS(Mcts({.budget = {.seconds = 1}}, uniform_value),
                       "option 'seconds' is 1.000000, allowed: 0 without a clock", std::invalid_argument);
  CHECK_THROWS_AS(Mcts({.budget = {.usd = -1}}, uniform_value), std::invalid_argument);
  CHECK_THROWS_AS(Mcts({.widen_k = 1}, uniform_value), std::invalid_argument);
  CHECK_THROWS_AS(Mcts({.expand = Expand::one, .widen_alpha = 0}, uniform_value), std::invalid_argument);
  CHECK_THROWS_AS(Mcts({.range = {1, 0}}, uniform_value), std::invalid_argument);
}

/// Gives its first n arms. It takes no context, so it does not know which were asked for before.
struct Arms {
  using State = int;
  using Action = int;
  std::vector<Kind> kinds(const State& s) const { return std::vector<Kind>(s < 0 ? 1 : 0); }
  std::vector<Proposal<int>> propose(const State&, Kind kind, std::uint32_t n) const {
    std::vector<Proposal<int>> arms;
    for (int arm = 0; arm < 3 && arm < int(n); ++arm) arms.emplace_back(arm, kind);
    return arms;
  }
  State step(const State&, const int& arm) const { return arm; }
};

TEST_CASE("an environment without a context gives each of its children, also one by one") {
  Arms arms;
  for (const auto expand : {Expand::one, Expand::all}) {
    const auto value = [](const Arms&, int arm) { return arm == 2 ? 1.0 : 0.0; };
    Mcts search({.simulations = 20, .width = 5, .expand = expand}, value);
    const auto tree = search.search(arms, -1, Seed(1));
    REQUIRE(tree.size() == 4);
    CHECK(tree[3].mean() == 1);
  }
}

TEST_CASE("the first value outside the declared range is told, and the search goes on") {
  toy::Bandit env({0.25, 1.5});
  const char* said = "a value of 1.500000 lies outside the declared range [0.000000, 1.000000]";
  Mcts narrow({.simulations = 9, .width = 2, .window = 4, .range = {0, 1}}, pays);
  const auto plain = narrow.search(env, env.root(), Seed(1));
  CHECK(plain[0].visits == 9);
  CHECK(plain.outside == said);
  CHECK(testing::complete(narrow(env, env.root(), Seed(1))).outside == said);
  Mcts wide({.simulations = 9, .width = 2, .range = {0, 1.5}}, pays);
  CHECK(wide.search(env, env.root(), Seed(1)).outside.empty());
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const auto value = [=](const toy::Bandit&, toy::Bandit::State) { return wrong; };
    const std::string named = "a value of " + std::to_string(wrong) + " is not finite";
    CHECK_THROWS_WITH_AS(Mcts({.simulations = 9, .width = 2}, value).search(env, env.root(), Seed(1)), named.c_str(),
                         TreeError);
  }
}

TEST_CASE("first play decides how soon the other arms are tried") {
  // The first arm is worth 0.9 and tried first. UCT must try the others next; with their first play at 0 and a small
  // weight none of them is ever tried; with first play at 0.95 each is tried once, as it then proves to be worth less.
  toy::Bandit env({0.9, 0.5, 0.5});
  const auto visits = [&](Uct::Options uct) {
    return child_visits(Mcts({.simulations = 10, .width = 3}, pays, Uct(uct)).search(env, env.root(), Seed(1)));
  };
  using Counts = std::vector<std::uint32_t>;
  CHECK(visits({.w = 0}) == Counts{8, 1, 1});
  CHECK(visits({.w = 0, .unvisited = 0, .first_play = FirstPlay::constant}) == Counts{10, 0, 0});
  CHECK(visits({.w = 0, .unvisited = 0.95, .first_play = FirstPlay::constant}) == Counts{8, 1, 1});
  // The parent's mean is 0.9 after the first pull: a tie, which the older wins.
  CHECK(visits({.w = 0, .first_play = FirstPlay::parent}) == Counts{10, 0, 0});
}

TEST_CASE("a search stops by a rule, of which each tree has its own, and is not said to have run out of anything") {
  toy::Bandit env({1, 0});
  const auto third = [n = 0](const auto&, NodeId) mutable { return ++n == 3; };
  Mcts engine({.simulations = 1000, .width = 2}, pays, Uct(), KeepAll(), MeanBackup(), third);
  for (const std::uint64_t seed : {1u, 2u}) {
    const auto tree = engine.search(env, env.root(), Seed(seed));
    CHECK(tree.steps == 3);
    CHECK(tree.ending == SearchFacts::Ending::done);
  }
}

TEST_CASE("choices that did not follow the highest mean are counted, so that it shows when none can") {
  const auto count = [&](double unit) {
    toy::Bandit env({0.2 * unit, 0.5 * unit, 0.9 * unit});
    Mcts engine({.simulations = 200, .width = 3}, pays);
    const auto tree = testing::complete(engine(env, env.root(), Seed(1)));
    CHECK(tree.choices == 197);  // all but the growth and the two first pulls
    return tree.explored;
  };
  CHECK(count(1) > 20);
  CHECK(count(1000) == 0);
}

}  // namespace mcts_options_test
