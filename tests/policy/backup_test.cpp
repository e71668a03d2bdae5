#include <espalier/core/concepts.hpp>
#include <espalier/policy/backup.hpp>

#include <doctest/doctest.h>

namespace backup_test {

using namespace espalier;

namespace {

struct Two {  // a value of two parts
  double first = 0, second = 0;
  Two& operator+=(const Two& o) { return first += o.first, second += o.second, *this; }
  Two operator*(double by) const { return {first * by, second * by}; }
  friend double utility(const Two& v) { return v.second; }
};
static_assert(espalier::detail::SearchValue<Two> && espalier::detail::SearchValue<double>);
static_assert(Backup<MeanBackup, Tree<int, int>> && Backup<DiscountedBackup, Tree<int, int, Two>>);

/// root 0 -> 1 -> 2, root -> 3
template <class Value>
Tree<int, int, Value> chain() {
  Tree<int, int, Value> tree(0, Seed());
  tree.add(0, 0, 0, 0, 1);
  tree.add(1, 0, 0, 0, 1);
  tree.add(0, 0, 0, 0, 1);
  return tree;
}

}  // namespace

TEST_CASE("the mean backup adds the value at the leaf and at every node above it") {
  auto tree = chain<double>();
  MeanBackup()(tree, 2, 1.0);
  MeanBackup()(tree, 1, 0.5);
  MeanBackup()(tree, 3, 0.25);
  CHECK(tree[2].mean() == 1.0);
  CHECK(tree[1].mean() == 0.75);  // (1 + 0.5) / 2
  CHECK(tree[3].mean() == 0.25);
  CHECK(tree[0].visits == 3);
  CHECK(tree[0].total == 1.75);
}

TEST_CASE("the discounted backup multiplies by gamma once an edge") {
  auto tree = chain<double>();
  DiscountedBackup({.gamma = 0.5})(tree, 2, 1.0);
  CHECK(tree[2].total == 1.0);
  CHECK(tree[1].total == 0.5);
  CHECK(tree[0].total == 0.25);
  DiscountedBackup({.gamma = 1})(tree, 2, 1.0);
  CHECK(tree[0].total == 1.25);
  CHECK(tree[0].visits == 2);
}

TEST_CASE("a value of two parts is backed up whole") {
  auto tree = chain<Two>();
  MeanBackup()(tree, 2, Two{1, -1});
  DiscountedBackup({.gamma = 0.5})(tree, 2, Two{2, 4});
  CHECK(tree[0].total.first == 1.5);      // 1 + 2 / 4
  CHECK(tree[0].total.second == 0);       // -1 + 4 / 4
  CHECK(utility(tree[2].mean()) == 1.5);  // (-1 + 4) / 2
}

TEST_CASE("gamma is above 0 and at most 1") {
  CHECK_THROWS_AS(DiscountedBackup({.gamma = 0}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(DiscountedBackup({.gamma = 1.5}), "option 'gamma' is 1.500000, allowed: (0, 1]",
                       std::invalid_argument);
}

}  // namespace backup_test
