#include <espalier/core/ballot.hpp>

#include <doctest/doctest.h>

namespace ballot_test {

using espalier::detail::Ballot;

TEST_CASE("the most frequent text wins, the first of equals, at its first place") {
  Ballot<int> ballot;
  CHECK(ballot.winner(-1) == -1);
  ballot.vote("b", 5);
  CHECK(ballot.winner(-1) == 5);
  ballot.vote("a", 7);
  CHECK(ballot.winner(-1) == 5);  // equal, and b was found first
  ballot.vote("a", 6);
  CHECK(ballot.winner(-1) == 6);  // in whatever order votes come
  ballot.vote("b", 9);
  CHECK(ballot.winner(-1) == 5);
}

}  // namespace ballot_test
