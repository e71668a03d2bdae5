#include <espalier/core/nearest.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace nearest_test {

using namespace espalier;

TEST_CASE("edit distance counts insertions, deletions and replacements") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("sunday", "saturday") == 3);
  CHECK(edit_distance("ab", "ba") == 2);
}

TEST_CASE("the nearest name is the one with the fewest edits, the first of equals") {
  const std::vector<std::string> options = {"threshold", "termination", "rollouts"};
  CHECK(nearest("treshold", options) == "threshold");
  CHECK(nearest("rollout", options) == "rollouts");
  const std::string_view alike[] = {"ax", "ay"};
  CHECK(nearest("a", alike) == "ax");
}

TEST_CASE("no candidates, no nearest name") { CHECK(nearest("k", std::vector<std::string>()).empty()); }

}  // namespace nearest_test
