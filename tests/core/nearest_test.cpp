#include <espalier/core/nearest.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace nearest_test {

using namespace espalier;
using namespace espalier::detail;

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
  CHECK(nearest("K", std::vector<std::string>{"n", "k"}) == "k");
  const std::string_view alike[] = {"nax", "nay"};
  CHECK(nearest("na", alike) == "nax");
}

TEST_CASE("no name is near that shares less than two thirds") {
  const std::string_view options[] = {"max_tokens", "k", "deadline", "model"};
  CHECK(nearest("simulatons", options).empty());
  CHECK(nearest("a", options).empty());
  CHECK(nearest("headings", options).empty());
  CHECK(nearest("modle", options) == "model");
  CHECK(nearest("maxtoken", options) == "max_tokens");
  CHECK(nearest("k", std::vector<std::string>()).empty());
}

TEST_CASE("a message about an unknown name ends with the nearest one, if there is one") {
  const std::string_view options[] = {"threshold", "rollouts"};
  CHECK(did_you_mean("treshold", options) == ", did you mean 'threshold'?");
  CHECK(did_you_mean("simulations", options).empty());
}

}  // namespace nearest_test
