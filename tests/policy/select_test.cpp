#include <espalier/core/concepts.hpp>
#include <espalier/policy/select.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace select_test {

using namespace espalier;
using namespace espalier::detail;

static_assert(SelectionPolicy<Uct> && SelectionPolicy<Puct>);

namespace {

Node<double> node(double total, std::uint32_t visits, std::uint16_t pending = 0, float prior = 1) {
  Node<double> n;
  n.total = total;
  n.visits = visits;
  n.pending = pending;
  n.prior = prior;
  return n;
}

}  // namespace

TEST_CASE("UCT is the mean plus w sqrt(ln N / n)") {
  // N = 8, n = 2, total 1: 0.5 + sqrt(2) sqrt(2.0794415416798357 / 2) = 0.5 + sqrt(2.0794415416798357) = 1.9420269
  CHECK(Uct()(node(4, 8), node(1, 2)) == doctest::Approx(1.9420269).epsilon(1e-7));
  // w = 1.4: 0.5 + 1.4 * 1.0196670 = 1.9275338
  CHECK(Uct({.w = 1.4})(node(4, 8), node(1, 2)) == doctest::Approx(1.9275338).epsilon(1e-7));
  CHECK(Uct({.w = 0})(node(4, 8), node(1, 2)) == 0.5);
}

TEST_CASE("UCT has the formula's bits where it looks numbers up and where it computes them") {
  for (const std::uint32_t n : {1U, 2U, 3U, 255U, 256U, 257U, 4'000'000'000U}) {
    // N = 0 has no exploration: total / n. With N = n the term is w sqrt(ln n) sqrt(1 / n).
    CHECK(Uct()(node(0, 0), node(0.75, n)) == 0.75 * (1.0 / n));
    CHECK(Uct({.w = 1})(node(0, n), node(0, n)) == std::sqrt(std::log(double(n))) * std::sqrt(1.0 / n));
  }
}

TEST_CASE("UCT counts simulations under way as visits without a value, at the parent and at the child") {
  // N = 6 + 2 = 8, n = 1 + 1 = 2, and the mean of the one known value is 0.5: as above.
  CHECK(Uct()(node(4, 6, 2), node(0.5, 1, 1)) == Uct()(node(4, 8), node(1, 2)));
}

TEST_CASE("a child with simulations under way alone has its parent's mean") {
  using enum FirstPlay;
  for (const FirstPlay rule : {infinite, parent, constant}) {
    // N = 7 + 1 = 8, n = 2, 3.5 / 7 = 0.5: as above. PUCT: 0.5 + 1 * 0.5 * sqrt(16) / (1 + 1)
    CHECK(Uct({.first_play = rule})(node(3.5, 7, 1), node(0, 0, 2)) == Uct()(node(4, 8), node(1, 2)));
    CHECK(Puct({.c = 1, .unvisited = 9, .first_play = rule})(node(7, 14, 2), node(0, 0, 1, 0.5F)) == 1.5);
    // Nothing is known of the parent: the number of the rule, if it has one. ln 1 = 0
    CHECK(Uct({.unvisited = 0.3, .first_play = rule})(node(0, 0, 1), node(0, 0, 1)) == (rule == constant ? 0.3 : 0));
  }
}

TEST_CASE("UCT tries every child once") {
  CHECK(Uct()(node(4, 8), node(0, 0)) == std::numeric_limits<double>::infinity());
  CHECK(Uct()(node(4, 8), node(0, 0, 1)) < 3);  // under way is as good as tried
  CHECK(Uct()(node(0, 1), node(0, 1)) == 0);    // ln 1 = 0
}

TEST_CASE("PUCT is the mean plus c P sqrt(N) / (1 + n)") {
  // N = 16, n = 3, total 1.5, P = 0.25, c = 2.5: 0.5 + 2.5 * 0.25 * 4 / 4 = 1.125
  CHECK(Puct()(node(9, 16), node(1.5, 3, 0, 0.25F)) == 1.125);
  // n = 0: 0 + 2.5 * 0.25 * 4 / 1 = 2.5
  CHECK(Puct()(node(9, 16), node(0, 0, 0, 0.25F)) == 2.5);
  // first-play value 0.5, c = 1: 0.5 + 0.25 * 4 = 1.5
  CHECK(Puct({.c = 1, .unvisited = 0.5})(node(9, 16), node(0, 0, 0, 0.25F)) == 1.5);
  // a simulation under way: N = 15 + 1, n = 2 + 1, mean 1 / 2
  CHECK(Puct()(node(9, 15, 1), node(1, 2, 1, 0.25F)) == 1.125);
}

TEST_CASE("PUCT can sum N over the children, as Eq. 2 of ProRAG does") {
  // The parent has 4 visits, one its own; the child 3 of priors 0.5: 1/3 + 2 sqrt(3) 0.5/4, not 1/3 + 2 sqrt(4) 0.5/4.
  Tree<int, int> tree(0, Seed(1));
  for (int i = 0; i < 2; ++i) tree.add(0, i, i, 0, 0.5F);
  tree[0].visits = 4, tree[1].visits = 3, tree[1].total = 1;
  const auto of_first = [&](Puct::Visits visits) { return Puct({.c = 2, .visits = visits}).at(tree, 0)(1); };
  CHECK(of_first(Puct::Visits::children) == doctest::Approx(1.0 / 3 + 0.4330127));
  CHECK(of_first(Puct::Visits::parent) == doctest::Approx(1.0 / 3 + 0.5));
}

TEST_CASE("a child without visits stands as the first-play rule says") {
  // the parent: total 2 over 4 visits; ln 4 = 1.3862944, sqrt = 1.1774100
  const auto uct = [](Uct::Options options) { return Uct(options)(node(2, 4), node(0, 0)); };
  CHECK(uct({.w = 1, .first_play = FirstPlay::parent}) == doctest::Approx(1.6774100).epsilon(1e-7));
  CHECK(uct({.w = 1, .unvisited = 0.1, .first_play = FirstPlay::constant}) == doctest::Approx(1.2774100).epsilon(1e-7));
  const auto puct = [](Puct::Options options) { return Puct(options)(node(2, 4), node(0, 0, 0, 0.2F)); };
  CHECK(puct({.c = 1, .first_play = FirstPlay::parent}) == doctest::Approx(0.9));  // 0.5 + 2 * 0.2
  CHECK(puct({.c = 1, .first_play = FirstPlay::infinite}) == std::numeric_limits<double>::infinity());
  // Beside a sibling, of weights 0.2 and 0.6, so of shares 0.25 and 0.75: 0.5 + 2 * 0.25
  Tree<int, int> tree(0, Seed(1));
  tree[0].total = 2, tree[0].visits = 4;
  for (const float prior : {0.2F, 0.6F}) tree.add(0, 1, 1, 0, prior);
  const auto beside = [&](FirstPlay rule) {
    return Puct({.c = 1, .unvisited = 0.3, .first_play = rule}).at(tree, 0)(1);
  };
  CHECK(beside(FirstPlay::parent) == doctest::Approx(1));
  CHECK(beside(FirstPlay::constant) == doctest::Approx(0.8));
  CHECK(beside(FirstPlay::infinite) == std::numeric_limits<double>::infinity());
}

TEST_CASE("PUCT shares the policy among living siblings") {
  // c = 1, sqrt(4) = 2. With half of the children grown, weights 0.5 and 0.3 are shares 0.625 and 0.375: 2 * 0.375
  Tree<int, int> half(0, Seed(1));
  half[0].visits = 4;
  for (const float prior : {0.5F, 0.3F, 1.0F}) half.add(0, 1, 1, 0, prior);
  half.prune(3, Reason::not_best);
  CHECK(Puct({.c = 1}).at(half, 0)(2) == doctest::Approx(0.75));
}

TEST_CASE("policies refuse weights below zero and what is no number") {
  CHECK_THROWS_WITH_AS(Uct({.w = -1}), "option 'w' is -1.000000, allowed: 0 or more", std::invalid_argument);
  CHECK_THROWS_AS(Uct({.w = std::nan("")}), std::invalid_argument);
  CHECK_THROWS_AS(Puct({.c = -0.5}), std::invalid_argument);
}

}  // namespace select_test
