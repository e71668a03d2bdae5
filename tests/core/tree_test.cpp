#include <espalier/core/tree.hpp>
#include <espalier/policy/prior.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace tree_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

using Words = Tree<std::string, char>;

/// root -> a(1), b(2); a -> c(3); root -> d(4)
Words small() {
  Words tree("root", Seed(9));
  tree.add(0, 'a', "a", 1, 0.5F);
  tree.add(0, 'b', "b", 2, 0.25F);
  tree.add(1, 'c', "c", 1, 1);
  tree.add(0, 'd', "d", 1, 0.25F);
  return tree;
}

}  // namespace

TEST_CASE("children stand in order of creation, parents before their children") {
  const Words tree = small();
  CHECK(tree.size() == 5);
  CHECK(tree.children(0) == std::vector<NodeId>{1, 2, 4});
  CHECK(tree.children(1) == std::vector<NodeId>{3});
  CHECK(tree.children(4).empty());
  CHECK(tree[3].parent == 1);
  CHECK(tree[tree.root()].parent == no_node);
  CHECK(tree.state(2) == "b");
  CHECK(tree.action(4) == 'd');
  CHECK(tree[2].kind == 2);
  CHECK(tree[2].prior == 0.25F);
}

TEST_CASE("a path leads from the root to the node, both included") {
  const Words tree = small();
  CHECK(tree.path(3) == std::vector<NodeId>{0, 1, 3});
  CHECK(tree.path(0) == std::vector<NodeId>{0});
}

TEST_CASE("a new node is open, unvisited and without a value") {
  const Words tree = small();
  CHECK(tree[1].status == Status::open);
  CHECK(tree[1].visits == 0);
  CHECK(tree[1].mean() == 0);
  CHECK(!tree[1].evaluated);
}

TEST_CASE("a pruned node stays in the tree with its reason") {
  Words tree = small();
  tree.prune(1, Reason::not_best);
  CHECK(tree[1].status == Status::pruned);
  CHECK(tree[1].reason == Reason::not_best);
  CHECK(tree.children(0).size() == 3);
}

TEST_CASE("an id that is no node's is an error that names it, and leaves the tree as it was") {
  Words tree = small();
  const char* said = "there is no node 5 in a tree of 5";
  CHECK_THROWS_WITH_AS((void)tree.state(5), said, TreeError);
  CHECK_THROWS_WITH_AS((void)tree.action(5), said, TreeError);
  CHECK_THROWS_WITH_AS((void)tree.children(5), said, TreeError);
  CHECK_THROWS_WITH_AS((void)tree.path(5), said, TreeError);
  CHECK_THROWS_WITH_AS(tree.prune(5, Reason::not_best), said, TreeError);
  CHECK_THROWS_WITH_AS(tree.annotate("score", 5, 1), said, TreeError);
  CHECK_THROWS_WITH_AS(tree.add(5, 'e', "e", 0, 1), said, TreeError);
  CHECK_THROWS_WITH_AS((void)tree.annotation("no such name", 5), said, TreeError);
  CHECK(tree.annotations.empty());
  tree.annotate("score", 4, 1);
  CHECK_THROWS_WITH_AS((void)tree.annotation("score", 5), said, TreeError);
  CHECK_THROWS_AS((void)tree.path(no_node), TreeError);
  CHECK_THROWS_WITH_AS(tree.prune(0, Reason::not_best), "the root of a tree cannot be pruned", TreeError);
  CHECK(tree[0].status == Status::open);
}

TEST_CASE("a prior is a number, 0 or more") {
  CHECK_THROWS_WITH_AS(Proposal<char>('e', 0, -0.5F), "a prior is -0.500000, not 0 or more", TreeError);
  CHECK_THROWS_AS(Proposal<char>('e', 0, std::numeric_limits<float>::infinity()), TreeError);
  Proposal<char> late('e', 0);
  late.prior = std::nanf("");
  CHECK_THROWS_AS((void)Prior().weight(late, 1), TreeError);
  CHECK_THROWS_WITH_AS(small().add(0, 'e', "e", 0, late.prior), "a prior is nan, not 0 or more", TreeError);
}

TEST_CASE("a node costs 40 bytes for a double") { CHECK(sizeof(Node<double>) == 40); }

TEST_CASE("ledgers add up by purpose, whatever the order") {
  Ledger a, b;
  a["rollout"] += Ledger::Costs{2, 30, 4, 0};
  a["search"].retrievals = 3;
  b["rollout"] += Ledger::Costs{1, 10, 1, 0};
  b["judge"].completions = 5;
  Ledger ab = a, ba = b;
  ab += b;
  ba += a;
  CHECK(ab == ba);
  CHECK(ab.by_purpose().at("rollout") == Ledger::Costs{3, 40, 5, 0});
  CHECK(ab.total() == Ledger::Costs{8, 40, 5, 3});
  CHECK(!(a == b));
}

TEST_CASE(
    "of the completions that could not be read a ledger keeps the one nearest to the root, in whatever order they "
    "come") {
  const Seed root(1);
  const Ledger::Unread first("at the root", 0, root, 1), sibling("second child", 32, root.child(1), 0),
      deep("below", 0, root.child(0).child(0), 0);
  const Ledger::Unread resampled("at the root again", 0, root, 1U << 20), other("another prompt", 0, root.child(3), 0);
  Ledger a, b, left, right;
  for (const Ledger::Unread& one : {first, sibling, deep, resampled}) a.add_unread("rollout", one);
  for (const Ledger::Unread& one : {resampled, deep, sibling, first}) b.add_unread("rollout", one);
  left.add_unread("rollout", deep), left.add_unread("judge", other);
  right.add_unread("rollout", sibling), right.add_unread("rollout", resampled), right.add_unread("rollout", first);
  b.add_unread("judge", other), a.add_unread("judge", other);
  left += right;
  CHECK(a == b);
  CHECK(a == left);
  CHECK(a.first_unread().at("rollout").text == "at the root");
  CHECK(a.by_purpose().at("rollout").unread == 4);
  CHECK(a.by_purpose().at("rollout").cut == 1);
  a.remember("rollout", Ledger::Unread("of a file", 7, Seed(), 0));
  CHECK(a.first_unread().at("rollout") ==
        Ledger::Unread("of a file", 7, root.child(5), 3));  // the place is not compared
  CHECK_FALSE(a == b);
}

TEST_CASE("a ledger that no unread completion is left in keeps none, also where other costs of the purpose stay") {
  Ledger all, part;
  all["judge"] = {3, 30, 6, 0};
  part["judge"] = {1, 10, 2, 0};
  all.add_unread("judge", Ledger::Unread("no score", 0, Seed(1), 0));
  part.add_unread("judge", Ledger::Unread("no score", 0, Seed(1), 0));
  all -= part;
  CHECK(all.by_purpose().at("judge") == Ledger::Costs{2, 20, 4, 0});
  CHECK(all.first_unread().empty());
}

TEST_CASE("places of a search are ordered by depth and then by ordinal, whatever their seeds' values") {
  const Seed root(7, "question");
  CHECK(root.rank() < root.child(0).rank());
  CHECK(root.child(0).rank() < root.child(1).rank());
  CHECK(root.child(900).rank() < root.child(0).child(0).rank());
  CHECK(root.child(2).purpose("judge").rank() == root.child(2).rank());
}

TEST_CASE("200 bytes of an unread completion are kept, and no character is cut in two") {
  const auto kept = [](const std::string& text) { return Ledger::Unread(text, 0, Seed(), 0).text; };
  CHECK(kept("short") == "short");
  CHECK(kept(std::string(300, 'a')) == std::string(200, 'a'));
  CHECK(kept(std::string(198, 'a') + "éé") == std::string(198, 'a') + "é");
  CHECK(kept(std::string(199, 'a') + "éé") == std::string(199, 'a'));
  CHECK(kept(std::string(300, '\x80')).empty());  // no UTF-8 at all
}

TEST_CASE("a context hands on its ledger under another seed or from another sample") {
  Ledger ledger;
  const Context context(Seed(1), 2, &ledger);
  CHECK(context.under(Seed(5)).seed.value() == 5);
  CHECK(context.under(Seed(5)).first == 2);
  CHECK(context.from(7).first == 7);
  CHECK(context.from(7).ledger == &ledger);
}

}  // namespace tree_test
