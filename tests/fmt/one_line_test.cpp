#include <espalier/fmt/one_line.hpp>

#include <doctest/doctest.h>

#include <string>

namespace one_line_test {

using espalier::one_line;
using espalier::detail::first_line;

TEST_CASE("one_line leaves plain text as it is, in every script") {
  CHECK(one_line("") == "");
  CHECK(one_line("Was Ada \"born\" in Zürich? 東京 नमस्ते \\n") == "Was Ada \"born\" in Zürich? 東京 नमस्ते \\n");
}

TEST_CASE("one_line makes escapes of what ends a line, moves the cursor, hides text or reorders it") {
  CHECK(one_line("a\nb\r\n\tc") == "a\\nb\\r\\n\\tc");
  CHECK(one_line(std::string("\x1b[2J\x07\0\x7f", 7)) == "\\x1b[2J\\x07\\x00\\x7f");
  CHECK(one_line("\xC2\x85 \xC2\x9B") == "\\x85 \\x9b");  // next line and CSI of C1
  CHECK(one_line("\xE2\x80\xA8\xE2\x80\xAE\xE2\x80\x8B\xEF\xBB\xBF") == "\\u2028\\u202e\\u200b\\ufeff");
  CHECK(one_line("\xF3\xA0\x81\x81") == "\\U000e0041");
  CHECK(one_line("\xC3(\x80") == "\xEF\xBF\xBD(\xEF\xBF\xBD");
}

TEST_CASE("first_line is cut between two characters and says that there is more") {
  CHECK(first_line("  \n\n", 10) == "");
  CHECK(first_line("\n  Anna \n", 10) == "Anna");
  CHECK(first_line("Anna\r\nEve", 10) == "Anna ...");
  CHECK(first_line("0123456789", 10) == "0123456789");
  CHECK(first_line("0123456789a", 10) == "0123456789 ...");
  CHECK(first_line("012345678é", 10) == "012345678 ...");
  CHECK(first_line("0123456  89a", 9) == "0123456 ...");
}

}  // namespace one_line_test
