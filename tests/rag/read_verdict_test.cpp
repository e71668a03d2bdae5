#include <espalier/rag/detail/read_verdict.hpp>

#include <doctest/doctest.h>

namespace read_verdict_test {

using namespace espalier::rag;
using namespace espalier::rag::detail;

TEST_CASE("a preference is two different positions, or none") {
  const auto is = [](std::string_view text, std::size_t better, std::size_t worse) {
    CAPTURE(text);
    const auto read = read_preference(text);
    REQUIRE(read);
    CHECK(read->better == better);
    CHECK(read->worse == worse);
  };
  is("2 over 1", 2, 1);
  is("  10   over 3\n", 10, 3);
  is("2over1", 2, 1);
  is("none", 0, 0);
  is(" None ", 0, 0);
  for (const char* text : {"", "over", "2", "2 over", "over 1", "2 over 2", "0 over 1", "1 over 0", "-1 over 2",
                           "1.5 over 2", "1 over 2.5", "1 over 2 over 3", "first over second", "85/100", "nan over 1",
                           "none at all", "nonexistent", "99999999999999999999999 over 1", "1 > 2"}) {
    CAPTURE(text);
    CHECK_FALSE(read_preference(text));
  }
}

TEST_CASE("verdicts and choices are told by their first word") {
  CHECK(read_verdict("Yes, it is.") == true);
  CHECK(read_verdict(" (no)") == false);
  CHECK_FALSE(read_verdict("perhaps"));
  CHECK(read_choice("(b) two") == 'B');
  CHECK_FALSE(read_choice("both"));
}

}  // namespace read_verdict_test
