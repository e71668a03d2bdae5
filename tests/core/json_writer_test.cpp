#include <espalier/core/json_writer.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace json_writer_test {

using namespace espalier;

namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}
std::string written(auto v) {
  std::string out;
  JsonWriter(out).value(v);
  return out;
}

}  // namespace

TEST_CASE("objects and arrays nest, with commas where they belong") {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("a", 1).key("b").begin_array().value(true).null().value("x");
  json.begin_object().end_object().end_array();
  json.field("c", std::string("d")).key("e").begin_array().end_array().key("f").raw("[1,2]").end_object();
  CHECK(out == R"({"a":1,"b":[true,null,"x",{}],"c":"d","e":[],"f":[1,2]})");
}

TEST_CASE("strings are escaped where JSON asks for it and nowhere else") {
  CHECK(in_quotes("plain / 'text'") == "\"plain / 'text'\"");
  CHECK(in_quotes("a\"b\\c") == R"("a\"b\\c")");
  CHECK(in_quotes("\n\r\t") == R"("\n\r\t")");
  CHECK(in_quotes(std::string_view("\0\x01\x1f\x7f", 4)) == "\"\\u0000\\u0001\\u001f\x7f\"");
  CHECK(in_quotes("") == "\"\"");
  // What some readers take for the end of a line, and their neighbours.
  CHECK(in_quotes("\xC2\x84\xC2\x85\xC2\x86") == "\"\xC2\x84\\u0085\xC2\x86\"");
  CHECK(in_quotes("long enough \u2027\u2028\u2029\u202a") == "\"long enough \u2027\\u2028\\u2029\u202a\"");
}

TEST_CASE("a byte is escaped wherever it stands in a long text") {
  for (int c = 0; c < 0x80; ++c) {
    const std::string byte(1, static_cast<char>(c)), escaped = in_quotes(byte).substr(1, in_quotes(byte).size() - 2);
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string left(before, 'x'), right(20 - before, '~');
      CHECK(in_quotes(left + byte + right) == "\"" + left + escaped + right + "\"");
    }
  }
  CHECK(in_quotes("0123456é0123456\x80 0123456789") == "\"0123456é0123456\xEF\xBF\xBD 0123456789\"");
}

TEST_CASE("UTF-8 passes, what is none becomes U+FFFD") {
  const std::string bad = "\xEF\xBF\xBD";
  for (const char* good : {"é", "漢字", "😀", "\xF4\x8F\xBF\xBF", "\xEE\x80\x80", "\xED\x9F\xBF"})
    CHECK(in_quotes(good) == "\"" + std::string(good) + "\"");
  CHECK(in_quotes("a\x80z") == "\"a" + bad + "z\"");                            // a stray tail
  CHECK(in_quotes("\xC0\xAF") == "\"" + bad + bad + "\"");                      // overlong
  CHECK(in_quotes("\xE0\x80\xAF") == "\"" + bad + bad + bad + "\"");            // overlong
  CHECK(in_quotes("\xED\xA0\x80") == "\"" + bad + bad + bad + "\"");            // a surrogate
  CHECK(in_quotes("\xF4\x90\x80\x80") == "\"" + bad + bad + bad + bad + "\"");  // above U+10FFFF
  CHECK(in_quotes("\xF8\x88\x80\x80\x80").size() == 2 + 5 * bad.size());
  CHECK(in_quotes("é\xC3") == "\"é" + bad + "\"");                  // cut off at the end
  CHECK(in_quotes("\xE6\xBC\"x") == "\"" + bad + bad + "\\\"x\"");  // cut off by a quote
}

TEST_CASE("integers of every width are written whole") {
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(written(std::uint8_t(200)) == "200");
  CHECK(written(false) == "false");
}

TEST_CASE("doubles read back to the same bits, in the shortest form") {
  CHECK(written(0.1) == "0.1");
  CHECK(written(1.0) == "1");
  CHECK(written(-0.0) == "-0.0");
  CHECK(written(1e300) == "1e+300");
  CHECK(written(0.1F) == "0.1");
  std::uint64_t bits = 0x0123456789abcdefULL;
  for (int i = 0; i < 20'000; ++i) {
    bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
    const double number = std::bit_cast<double>(bits);
    if (number - number != 0) continue;  // not finite
    CHECK(std::bit_cast<std::uint64_t>(std::strtod(written(number).c_str(), nullptr)) == bits);
  }
}

TEST_CASE("what is no number in JSON is null") {
  CHECK(written(std::numeric_limits<double>::infinity()) == "null");
  CHECK(written(std::numeric_limits<double>::quiet_NaN()) == "null");
}

}  // namespace json_writer_test
