#include <espalier/policy/diversity.hpp>

#include <doctest/doctest.h>

namespace diversity_test {

using namespace espalier;
using namespace espalier::detail;

TEST_CASE("distances between texts, counted by hand") {
  CHECK(charset_distance("abc", "bcd") == 2);  // a and d
  CHECK(charset_distance("aab", "bba") == 0);
  CHECK(charset_distance("", "xyz") == 3);
}

TEST_CASE("the most different are chosen one by one, the earlier of equals first") {
  // Points on a line: 0 1 2 10 11. From 0 the farthest is 11 (4); then 2 is 2 from 0, 10 is 1 from 11: 2; then 10 and 1
  // are both 1 away from what is chosen: 1 comes first.
  const std::vector<double> at{0, 1, 2, 10, 11};
  const auto distance = [&](std::size_t i, std::size_t j) { return std::abs(at[i] - at[j]); };
  CHECK(most_different(5, 4, distance) == std::vector<std::size_t>{0, 4, 2, 1});
  CHECK(most_different(5, 9, distance).size() == 5);
  CHECK(most_different(0, 3, distance).empty());
  CHECK(most_different(3, 2, [](std::size_t, std::size_t) { return 0.0; }) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("what stays keeps its order, and without diversity the first stay") {
  const std::vector<std::string> texts{"river in Vienna", "river in Vienna?", "who composed it", "river of Vienna"};
  CHECK(diverse(texts, 2, Diversity::none) == std::vector<std::size_t>{0, 1});
  CHECK(diverse(texts, 2, Diversity::charset) == std::vector<std::size_t>{0, 2});
  CHECK(diverse(texts, 7, Diversity::charset) == std::vector<std::size_t>{0, 1, 2, 3});
}

}  // namespace diversity_test
