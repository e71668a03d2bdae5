#include <espalier/llm/nfkc.hpp>
#include <espalier/llm/unicode.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace unicode_test {

using namespace espalier;
using namespace espalier::detail;

namespace {

/// FNV-1a, 64 bits: simple enough to write again in any language. The expected values below come from CPython 3.11
/// (Unicode 14), which ran the same hash over its own str methods.
class Fnv {
 public:
  void add(std::string_view bytes) {
    for (char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  std::uint64_t value = 0xcbf29ce484222325ULL;
};

void for_every_code_point(auto f) {
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xD800 || c >= 0xE000) f(c);
}

std::uint64_t hash_of_all(auto change) {
  Fnv hash;
  for_every_code_point([&](char32_t c) {
    hash.add(change(encode_utf8({&c, 1})));
    hash.add("\n");
  });
  return hash.value;
}

}  // namespace

TEST_CASE("to_lower and casefold agree with Python on every code point") {
  CHECK(hash_of_all([](const std::string& s) { return to_lower(s); }) == 0x45c0f3d4d1933888ULL);
  CHECK(hash_of_all([](const std::string& s) { return casefold(s); }) == 0xb6348c964e1c7250ULL);
}

TEST_CASE("is_alnum and is_space agree with Python on every code point") {
  Fnv hash;
  for_every_code_point([&](char32_t c) {
    const char bits = static_cast<char>(int(is_alnum(c)) + 2 * int(is_space(c)));
    hash.add({&bits, 1});
  });
  CHECK(hash.value == 0xd0db13baac13a0f8ULL);
}

TEST_CASE("white space is the set of str.split") {
  const std::u32string_view blanks =
      U"\x09\x0A\x0B\x0C\x0D\x1C\x1D\x1E\x1F\x20\x85\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000";
  for (char32_t c : blanks) CHECK(is_space(c));
  for (char32_t c : U"\x08\x1B!\u200B\uFEFF\u180E") CHECK_FALSE(is_space(c));
}

TEST_CASE("word characters are letters, numbers and the underscore") {
  for (char32_t c : {U'a', U'Z', U'0', U'_', U'\u00E9', U'\u00B2', U'\u4E2D', U'\u0662'}) CHECK(is_word(c));
  for (char32_t c : {U'-', U' ', U'\u0301', U'\u2013', U'\u200B', U'\uFFFD'}) CHECK_FALSE(is_word(c));
  CHECK_FALSE(is_alnum(U'_'));
}

TEST_CASE("a capital sigma is final behind a letter and before none") {
  CHECK(to_lower("Α"
                 "Σ") == "ας");
  CHECK(to_lower("ΑΣ.") == "ας.");
  CHECK(to_lower("ΑΣΑ") == "ασα");
  CHECK(to_lower("Σ") == "σ");
  CHECK(to_lower("1Σ") == "1σ");
  CHECK(to_lower("AΣ1") == "aς1");
  CHECK(to_lower("ΑΣ'Α") == "ασ'α");  // the apostrophe is looked past
  CHECK(to_lower("Α\u0301Σ") == "α\u0301ς");
  CHECK(to_lower("ὈΔΥΣΣΕΎΣ ΟΔΟΣ") == "ὀδυσσεύς οδος");
}

TEST_CASE("a dotted capital I becomes two code points") {
  CHECK(to_lower("İSTANBUL") == "i\u0307stanbul");
  CHECK(casefold("STRASSE Straße ﬁn") == "strasse strasse fin");
}

TEST_CASE("bytes that are not UTF-8 read as replacement characters") {
  CHECK(decode_utf8("a\xFFz") == U"a\uFFFDz");
  CHECK(decode_utf8("\xE2\x82") == U"\uFFFD\uFFFD");            // cut short
  CHECK(decode_utf8("\xC0\x80") == U"\uFFFD\uFFFD");            // overlong
  CHECK(decode_utf8("\xED\xA0\x80") == U"\uFFFD\uFFFD\uFFFD");  // surrogate
  CHECK(to_lower("\xFF"
                 "A") ==
        "\uFFFD"
        "a");
  CHECK(encode_utf8(std::u32string{char32_t(0xD800), char32_t(0x110000)}) == "\uFFFD\uFFFD");
}

TEST_CASE("every code point survives encoding and decoding") {
  std::uint32_t wrong = 0;
  for_every_code_point([&](char32_t c) {
    std::size_t i = 0;
    const std::string bytes = encode_utf8({&c, 1});
    wrong += decode_utf8(bytes, i) != c || i != bytes.size();
  });
  CHECK(wrong == 0);
}

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

}  // namespace unicode_test
