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
  // Texts that lie on a line, at 0 1 2 10 11. From 0 the farthest is 11 (4); then 2 is 2 from 0, 10 is 1 from 11: 2;
  // then 10 and 1 are both 1 away from what is chosen: 1 comes first.
  const std::vector<std::string> texts{"a", "ab", "abc", "abcdefghijk", "abcdefghijkl"};
  const auto kept = [&](std::size_t k) { return diverse(texts, k, Diversity::charset); };
  CHECK(kept(0).empty());
  CHECK(kept(1) == std::vector<std::size_t>{0});
  CHECK(kept(2) == std::vector<std::size_t>{0, 4});
  CHECK(kept(3) == std::vector<std::size_t>{0, 2, 4});
  CHECK(kept(4) == std::vector<std::size_t>{0, 1, 2, 4});
  CHECK(diverse({}, 3, Diversity::charset).empty());
}

TEST_CASE("what stays keeps its order, and without diversity the first stay") {
  const std::vector<std::string> texts{"river in Vienna", "river in Vienna?", "who composed it", "river of Vienna"};
  CHECK(diverse(texts, 2, Diversity::none) == std::vector<std::size_t>{0, 1});
  CHECK(diverse(texts, 2, Diversity::charset) == std::vector<std::size_t>{0, 2});
  CHECK(diverse(texts, 7, Diversity::charset) == std::vector<std::size_t>{0, 1, 2, 3});
}

}  // namespace diversity_test
