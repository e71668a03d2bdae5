#include <espalier/run/detail/summary.hpp>

#include <doctest/doctest.h>

namespace summary_test {

TEST_CASE("a warning is given when no choice was the exploration term's") {
  CHECK(espalier::run::detail::exploration_warning(0, 0) == "");
  CHECK(espalier::run::detail::exploration_warning(120, 1) == "");
  CHECK(espalier::run::detail::exploration_warning(120, 0) ==
        "exploration changed none of 120 choices: its weight is small beside the differences of the values; raise it, "
        "or normalise the values");
}

}  // namespace summary_test
