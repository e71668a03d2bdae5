#include <espalier/fmt/value.hpp>
#include <espalier/method/decouple/detail/environment.hpp>
#include <espalier/rag/metrics.hpp>

#include <doctest/doctest.h>

namespace value_test {

using espalier::detail::value_text;

/// A value that names no parts.
struct Points {
  int won = 0;
};
double utility(const Points& points) { return points.won / 3.0; }

TEST_CASE("values of several parts name them") {
  CHECK(fmt::format("{}", espalier::method::detail::Dual{0.5, -0.25}) == "plan 0.5, search -0.25");
  CHECK(fmt::format("{}", espalier::rag::Scores{1, 0.8, 2.0 / 3, 1, 1}) ==
        "em 1, f1 0.8, precision 0.6667, recall 1, acc 1");
}

TEST_CASE("within a line parts stand in brackets, and other values are numbers of four digits") {
  CHECK(value_text(espalier::method::detail::Dual{0.5, -0.25}) == "(plan 0.5, search -0.25)");
  CHECK(value_text(2.0 / 3) == "0.6667");
  CHECK(value_text(Points{2}) == "0.6667");
}

}  // namespace value_test
