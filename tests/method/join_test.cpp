#include <espalier/method/match_budget.hpp>

#include <doctest/doctest.h>

namespace join_test {

using namespace espalier;

TEST_CASE("joined trees keep all that is known of their nodes") {
  Tree<int, int> a(0, Seed(1)), b(0, Seed(1));
  a.add(0, 1, 1, 0, 1);
  const NodeId x = b.add(0, 2, 2, 1, 0.5F);
  const NodeId y = b.add(x, 3, 3, 1, 0.25F);
  b[x].visits = 2;
  b[y].total = 0.75;
  b[0].visits = 3;
  b.prune(y, Reason::not_best);
  b.rollouts.push_back({y, 9, 0.5});
  b.rollouts.push_back({0, 8, 0.25});
  b.annotate("plan", y, 0.125);
  b.ledger["p"].completions = 4;
  CHECK(detail::join(a, b) == 1);
  CHECK(a.size() == 4);
  CHECK(a[2].parent == 0);
  CHECK(a[3].parent == 2);
  CHECK(a[2].visits == 2);
  CHECK(a[0].visits == 3);
  CHECK(a[3].total == 0.75);
  CHECK(a[3].status == Status::pruned);
  CHECK(a.action(3) == 3);
  CHECK(a.rollouts[0].node == 3);
  CHECK(a.rollouts[1].node == 0);
  CHECK(a.annotation("plan", 3) == 0.125);
  CHECK(a.ledger.total().completions == 4);
  CHECK(a.children(0) == std::vector<NodeId>{1, 2});
}

}  // namespace join_test
