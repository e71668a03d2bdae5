#include <espalier/policy/any_pruning.hpp>
#include <espalier/search.hpp>

#include "../toy/bandit.hpp"
#include <doctest/doctest.h>
#include <search/executions.hpp>

#include <any>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pruning_test {

using namespace espalier;
using namespace espalier::testing;
using Siblings = std::span<const NodeId>;

namespace {

const auto pays = [](const toy::Bandit& b, toy::Bandit::State s) { return b.value(s); };
const auto even = [](std::uint32_t action) { return action % 2; };
/// Cuts these ids, whoever is asked.
struct Cut {
  std::vector<NodeId> ids;
  static const char* name() { return "'cut these'"; }
  Verdict operator()(const auto&, Siblings) const {
    Verdict verdict;
    for (const NodeId id : ids) verdict.cut.emplace_back(id, Reason::not_best);
    return verdict;
  }
};
const auto everything = [](const auto&, Siblings siblings) {
  Verdict verdict;
  for (const NodeId id : siblings) verdict.cut.emplace_back(id, Reason::none);
  return verdict;
};

/// Of each child of the root, in order: its visits, and its reason where it is pruned.
std::vector<std::string> arms(const auto& tree) {
  std::vector<std::string> all;
  for (const NodeId id : tree.children(0))
    all.push_back(std::to_string(tree[id].visits) +
                  (tree[id].status == Status::pruned ? " cut " + std::to_string(int(tree[id].reason)) : ""));
  return all;
}
const std::string worse = " cut " + std::to_string(int(Reason::not_best));
const std::string below = " cut " + std::to_string(int(Reason::below_threshold));
using Arms = std::vector<std::string>;

/// Calls check(name, make) for an engine of each sort, where make(policy) -> engine over the bandit.
void each_engine(auto check) {
  check("Mcts", [](auto policy) { return Mcts({.simulations = 12, .width = 4}, pays, Uct(), policy); });
  check("Beam", [](auto policy) { return Beam({.beam = 4, .width = 4}, pays, policy); });
  check("BestFirst", [](auto policy) { return BestFirst({.width = 4}, pays, policy); });
  check("Trajectories", [](auto policy) { return Trajectories({.n = 4}, pays, policy); });
  check("Layered", [](auto policy) { return Layered({.width = 4}, pays, policy); });
  check("HierarchicalBeam", [](auto policy) {
    const auto rank = [](Kind, double value) { return value; };
    const auto text = [](toy::Bandit::Action a) { return std::to_string(a); };
    using Engine = HierarchicalBeam<decltype(pays), decltype(rank), decltype(text), decltype(policy)>;
    return Engine({.levels = {{0, {.width = 4, .keep = 4}}}}, pays, rank, text, policy);
  });
}

auto grown(auto engine) {
  toy::Bandit env({0.2, 0.5, 0.9, 0.6});
  auto tree = testing::complete(engine(env, env.root(), Seed(1)));
  CHECK(testing::broken_rule(tree) == "");
  return tree;
}

}  // namespace

TEST_CASE("MCTS asks for the parent of each merged value about the children that have one") {
  // Simulations 1 to 4 value the arms in turn. After the third, 0.2 is the worst of three, after the fourth 0.5.
  const auto tree = grown(Mcts({.simulations = 4, .width = 4}, pays, Uct(), TopK(2)));
  CHECK(arms(tree) == Arms{"1" + worse, "1" + worse, "1", "1"});
  CHECK(tree[0].visits == 4);
  CHECK(tree[0].total == doctest::Approx(0.2 + 0.5 + 0.9 + 0.6));  // what is cut keeps its share
  const auto more = grown(Mcts({.simulations = 40, .width = 4}, pays, Uct(), TopK(2)));
  CHECK(arms(more)[0] == "1" + worse);
  CHECK(arms(more)[1] == "1" + worse);
  CHECK(more[3].visits + more[4].visits == 38);
}

TEST_CASE("enough ends the growth of a node in MCTS") {
  const auto enough = [](const auto& tree, Siblings siblings) {
    Verdict verdict;
    verdict.enough = tree[siblings.back()].mean() >= 0.5;  // the second arm
    return verdict;
  };
  for (const std::uint32_t window : {1u, 2u}) {
    const MctsOptions options{.simulations = 9, .width = 4, .window = window, .expand = MctsOptions::Expand::one};
    const auto tree = grown(Mcts(options, pays, Uct(), enough));
    CHECK(tree.children(0).size() == 1 + window);  // a third arm was under way
    CHECK(tree[0].status == Status::expanded);
    CHECK(tree[0].visits == 9);
  }
}

TEST_CASE("beams, best-first search and paths are pruned once their children have values") {
  const Threshold near_best(0.35, Threshold::Of::best);  // 0.9 - 0.35: 0.2 and 0.5 are below
  each_engine([&](const std::string& name, auto make) {
    CAPTURE(name);
    const auto tree = grown(make(near_best));
    if (name == "Mcts" || name == "Trajectories") return;
    CHECK(arms(tree) == Arms{"1" + below, "1" + below, "1", "1"});
  });
  const auto mcts = grown(Mcts({.simulations = 4, .width = 4}, pays, Uct(), near_best));
  CHECK(arms(mcts) == Arms{"1" + below, "1" + below, "1", "1"});
  const auto best = grown(BestOfN({.n = 4}, pays, Cut{{2}}));
  CHECK(best[2].status == Status::pruned);
  CHECK(best.annotation("selected", 2) != 1);
}

TEST_CASE("what is cut ahead of values is never valued") {
  std::vector<std::uint32_t> valued;
  const auto counting = [&](const toy::Bandit& b, toy::Bandit::State s) {
    valued.push_back(1);
    return b.value(s);
  };
  const auto policy = AllOf(Before(Dedup(even)), TopK(1));  // arms 0 and 1 are left, then 0.5 beats 0.2
  CHECK(arms(grown(Beam({.beam = 4, .width = 4}, counting, policy))) ==
        Arms{"1" + worse, "1", "0" + worse, "0" + worse});
  CHECK(valued.size() == 2);
  CHECK(arms(grown(BestFirst({.width = 4}, counting, policy)))[1] == "1");
  CHECK(arms(grown(Layered({.width = 4}, counting, policy)))[1] == "1");
  CHECK(valued.size() == 6);
}

TEST_CASE("a policy that cuts everything ends the branch") {
  each_engine([&](const std::string& name, auto make) {
    CAPTURE(name);
    const auto tree = grown(make(everything));
    for (const NodeId id : tree.children(0)) CHECK(tree[id].reason == Reason::not_best);
    if (name == "Mcts") CHECK(tree[0].visits == 4);  // the search ends with its last arm
  });
}

TEST_CASE("a wrong id is an error that names engine and policy, and one that is named twice is cut once") {
  each_engine([&](const std::string& name, auto make) {
    CAPTURE(name);
    for (const NodeId wrong : {0u, 99u, no_node}) {
      std::string error;
      try {
        grown(make(Cut{{1, wrong}}));
      } catch (const PolicyError& e) {
        error = e.what();
      }
      CHECK(error == name + ": the pruning policy 'cut these' cuts node " + std::to_string(wrong) +
                         ", which is no child of node 0");
    }
    if (name != "Trajectories") CHECK(arms(grown(make(Cut{{1, 1}})))[0] == "1" + worse);
  });
}

TEST_CASE("a pruned search gives the same tree for any batch size, number in flight and order of completion") {
  using Judge = AskedTree::Judge;
  const auto policy = AllOf(TopK(2), Threshold(0.6, Threshold::Of::best), Threshold(0.5, Threshold::Of::parent));
  for (const auto expand : {MctsOptions::Expand::all, MctsOptions::Expand::one})
    for (const bool solve : {false, true})
      for (const std::uint32_t window : {1u, 4u, 32u}) {
        const MctsOptions options{.simulations = 60, .width = 3, .window = window, .expand = expand, .solve = solve};
        same_for_every_execution([&](Judge judge) { return Mcts(options, std::move(judge), Uct(), policy); });
        same_for_every_execution([&](Judge judge) {
          const auto enough = [](const auto& tree, Siblings siblings) {
            Verdict verdict;
            verdict.enough = siblings.size() > 1;
            if (tree[siblings.front()].mean() < 0.5) verdict.cut.emplace_back(siblings.front(), Reason::not_best);
            return verdict;
          };
          return Mcts(options, std::move(judge), Puct(), enough);
        });
        same_for_every_execution([&](Judge judge) { return Mcts(options, std::move(judge), Uct(), Budgeted(120, 3)); });
      }
  const auto early = AllOf(Before(Dedup(even)), policy);
  same_for_every_execution(
      [&](Judge judge) { return Beam({.beam = 3, .width = 3, .max_depth = 4}, std::move(judge), early); });
  same_for_every_execution(
      [&](Judge judge) { return BestFirst({.width = 3, .expansions = 20}, std::move(judge), early); });
  same_for_every_execution([&](Judge judge) { return BestOfN({.n = 6}, std::move(judge), policy); });
  same_for_every_execution(
      [&](Judge judge) { return Layered({.width = 3}, std::move(judge), AllOf(early, Keep(TopK(2)))); });
}

TEST_CASE("a policy of erased type cuts what it cuts by itself, and without one nothing is cut") {
  each_engine([&](const std::string& name, auto make) {
    CAPTURE(name);
    const Threshold near_best(0.35, Threshold::Of::best);
    CHECK(arms(grown(make(AnyPruning{.name = "near", .at = near_best}))) == arms(grown(make(near_best))));
    CHECK(arms(grown(make(AnyPruning()))) == arms(grown(make(KeepAll()))));
    const auto named = [&](AnyPruning policy) {
      try {
        grown(make(std::move(policy)));
      } catch (const PolicyError& error) {
        return std::string(error.what());
      }
      return std::string("nothing");
    };
    const std::string lacks = name + " has no moment `";
    CHECK(named({.name = "wrong", .at = Cut{{99}}}).starts_with(name + ": the pruning policy wrong cuts node 99"));
    if (name == "Mcts" || name == "Trajectories")
      CHECK(named({.name = "early", .before = TopK(1)}) == lacks + "before` for the pruning policy early");
    else CHECK(named({.name = "early", .before = TopK(1)}) == "nothing");
    if (name == "Layered") CHECK(named({.name = "late", .keep = TopK(1)}) == "nothing");
    else CHECK(named({.name = "late", .keep = TopK(1)}) == lacks + "keep` for the pruning policy late");
  });
}

TEST_CASE("a policy of erased type sees the path to its siblings and their ids in the tree") {
  std::vector<NodeId> ids;
  const auto look = [&](const SiblingTree& tree, Siblings siblings) {
    for (const NodeId id : siblings) ids.push_back(tree.state(id));
    CHECK(tree.path(siblings.front()).size() == 2);
    CHECK(std::any_cast<toy::Bandit::Action>(tree.action(siblings.back())) == 3);
    CHECK(tree[siblings.back()].mean() == doctest::Approx(0.6));
    return Verdict();
  };
  grown(Layered({.width = 4}, pays, AnyPruning{.name = "look", .keep = look}));
  CHECK(ids == std::vector<NodeId>{1, 2, 3, 4});
}

TEST_CASE("priors of what a policy leaves add up to 1 again, and nobody asks about nobody") {
  const auto best = Mcts({.simulations = 9, .width = 4, .values = MctsOptions::Values::all}, pays, Puct(), TopK(2));
  const auto tree = grown(best);
  float sum = 0;
  for (const NodeId id : tree.children(0)) sum += tree[id].status == Status::pruned ? 0 : tree[id].prior;
  CHECK(sum == 1);
  const auto none = AllOf(Threshold(2), Threshold(0.5, Threshold::Of::parent));
  CHECK(none(tree, std::span<const NodeId>(tree.children(0))).cut.size() == 4);
}

TEST_CASE("ready-made policies are named by a text") {
  const auto cut_by = [](const std::string& text) { return arms(grown(Beam({.width = 4}, pays, pruning_of(text)))); };
  CHECK(cut_by("") == Arms{"1", "1", "1", "1"});
  CHECK(cut_by("top_k:2") == Arms{"1" + worse, "1" + worse, "1", "1"});
  CHECK(cut_by("before:top_k:3") == Arms{"1", "1", "1", "0" + worse});
  CHECK(cut_by("threshold:0.55") == Arms{"1" + below, "1" + below, "1", "1"});
  CHECK(cut_by("threshold:0.5:best") == Arms{"1" + below, "1", "1", "1"});
  CHECK(cut_by("threshold:0.3,top_k:2") == Arms{"1" + below, "1" + worse, "1", "1"});
  CHECK(cut_by("best_of_each_kind") == Arms{"1" + worse, "1" + worse, "1", "1" + worse});
  CHECK(pruning_of("keep:top_k:1,threshold:0:parent,budgeted:9:2").name ==
        "keep:top_k:1,threshold:0:parent,budgeted:9:2");
  for (const char* bad : {"top_k", "top_k:-1", "top_k:0", "top_k:2:3", "threshold:nan", "threshold:1:x", "x:1",
                          ",top_k:1", "top_k:2:", "before:", "budgeted:0:1", "best_of_each_kind:2"})
    CHECK_THROWS_AS(pruning_of(bad), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pruning_of("before:keep:top_k:1"), doctest::Contains("has no moment `keep`"), PolicyError);
}

}  // namespace pruning_test
