#include <espalier/llm/nfkc.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace nfkc_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

std::uint64_t fnv(std::uint64_t hash, std::string_view bytes) {
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}
constexpr std::uint64_t fnv_start = 0xcbf29ce484222325ULL;

}  // namespace

// Expected hashes: FNV-1a over unicodedata.normalize('NFKC', ...) of CPython 3.11.

TEST_CASE("NFKC agrees with Python on every code point") {
  std::uint64_t hash = fnv_start;
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xD800 || c >= 0xE000) hash = fnv(fnv(hash, nfkc(encode_utf8({&c, 1}))), "\n");
  CHECK(hash == 0xcb7ff3cab1e5b32bULL);
}

TEST_CASE("NFKC agrees with Python on a letter under any two marks") {
  std::uint64_t hash = fnv_start;
  for (char32_t a = 0x300; a < 0x370; ++a)
    for (char32_t b = 0x300; b < 0x370; ++b) hash = fnv(hash, nfkc(encode_utf8(std::u32string{U'a', a, b})));
  CHECK(hash == 0xa015b64750cdd2adULL);
}

TEST_CASE("NFKC composes, orders and unfolds") {
  CHECK(nfkc("plain text") == "plain text");
  CHECK(nfkc("e\u0301") == "\u00E9");
  CHECK(nfkc("q\u0307\u0323") == "q\u0323\u0307");             // canonical order
  CHECK(nfkc("a\u0315\u0300\u05AE") == "\u00E0\u05AE\u0315");  // composes past a higher class
  CHECK(nfkc("\uFF21\uFB01\u00B2\u2460") == "Afi21");          // compatibility forms
  CHECK(nfkc("\u1112\u1161\u11AB") == "\uD55C");               // Hangul
  CHECK(nfkc("\u0958") == "\u0915\u093C");                     // excluded from composition
  CHECK(nfkc("\xFFx") == "\uFFFDx");
}

}  // namespace nfkc_test
