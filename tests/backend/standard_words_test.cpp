#include <espalier/backend/detail/lexical/standard_words.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace standard_words_test {

using espalier::backend::detail::standard_words;
using Words = std::vector<std::string_view>;

TEST_CASE("words are runs of letters and digits") {
  CHECK(standard_words("") == Words{});
  CHECK(standard_words("  ...!? ") == Words{});
  CHECK(standard_words("Jean-Luc, b2b (R2-D2)") == Words{"Jean", "Luc", "b2b", "R2", "D2"});
  CHECK(standard_words("caf\u00E9 \u041C\u043E\u0441\u043A\u0432\u0430") ==
        Words{"caf\u00E9", "\u041C\u043E\u0441\u043A\u0432\u0430"});
}

TEST_CASE("one mark inside a word joins it, two or one of the wrong kind do not") {
  CHECK(standard_words("can't O\u2019Neill's") == Words{"can't", "O\u2019Neill's"});
  CHECK(standard_words("U.S. e.g. www.a.b") == Words{"U.S", "e.g", "www.a.b"});
  CHECK(standard_words("1,000.5 3;4 1:2") == Words{"1,000.5", "3;4", "1", "2"});
  CHECK(standard_words("a,b a;b a:b") == Words{"a", "b", "a", "b", "a:b"});
  CHECK(standard_words("a..b 'quoted' v1.a") == Words{"a", "b", "quoted", "v1", "a"});
}

TEST_CASE("underscores join and hang on, alone they are no word") {
  CHECK(standard_words("foo_bar _x_ __") == Words{"foo_bar", "_x_"});
}

TEST_CASE("marks belong to the character before them") {
  CHECK(standard_words("e\u0301te\u0301 x\u0301.\u0301y") == Words{"e\u0301te\u0301", "x\u0301.\u0301y"});
  CHECK(standard_words("\u0301 a") == Words{"a"});
}

TEST_CASE("ideographs and hiragana stand alone, katakana runs on, superscripts are no letters") {
  CHECK(standard_words("\u6771\u4EAC\u306E\u30BF\u30EF\u30FC") ==
        Words{"\u6771", "\u4EAC", "\u306E", "\u30BF\u30EF\u30FC"});
  CHECK(standard_words("km\u00B2 \u00BD") == Words{"km"});
  CHECK(standard_words("x\u6771y") == Words{"x", "\u6771", "y"});
}

TEST_CASE("a word longer than 255 code points is cut") {
  const std::string a(600, 'a');
  const auto words = standard_words(a);
  REQUIRE(words.size() == 3);
  CHECK(words[0].size() == 255);
  CHECK(words[1].size() == 255);
  CHECK(words[2].size() == 90);
}

TEST_CASE("damaged UTF-8 separates words") {
  CHECK(standard_words("ab\xFF"
                       "cd\xC3") == Words{"ab", "cd"});
}

}  // namespace standard_words_test
