#include <espalier/rag/text.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace text_test {

using namespace espalier::rag;
using namespace espalier::rag::detail;
using Parts = std::vector<std::string_view>;

TEST_CASE("split cuts at every white space character that Python knows") {
  CHECK(split("") == Parts{});
  CHECK(split(" \t\n") == Parts{});
  CHECK(split("  one two ") == Parts{"one", "two"});
  CHECK(split("a\u00A0b\u2003c\u3000d\u0085"
              "e\x1C"
              "f\u2028g") == Parts{"a", "b", "c", "d", "e", "f", "g"});
  CHECK(split("zero\u200Bwidth") == Parts{"zero\u200Bwidth"});
}

TEST_CASE("strip takes white space off the ends only") {
  CHECK(strip("\u3000 a  b \n") == "a  b");
  CHECK(strip(" \n ") == "");
}

TEST_CASE("punctuation is the 32 marks of ASCII") {
  int marks = 0;
  for (int c = 0; c < 128; ++c) marks += is_punctuation(static_cast<char>(c));
  CHECK(marks == 32);
  CHECK(delete_punctuation("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").empty());
}

TEST_CASE("words are replaced only where they stand alone") {
  CHECK(replace_words("a an the and tha", {"a", "an", "the"}, "#") == "# # # and tha");
  CHECK(replace_words("the", {"the"}, "") == "");
  CHECK(replace_words("a\u00E9 \u00E9"
                      "a a_ a1",
                      {"a"}, "#") ==
        "a\u00E9 \u00E9"
        "a a_ a1");
  CHECK(replace_words("\u2013a\u2013", {"a"}, "#") == "\u2013#\u2013");
}

// Each expected value was computed with Python: lower, join without string.punctuation, re.sub, split and join.
TEST_CASE("the common normal form lowers, deletes punctuation, drops articles, joins blanks") {
  CHECK(normalise("The U.S.") == "us");
  CHECK(normalise("1,000") == "1000");
  CHECK(normalise("A") == "");
  CHECK(normalise("The") == "");
  CHECK(normalise("a a the") == "");
  CHECK(normalise("the a-team") == "ateam");
  CHECK(normalise("a_b _a_") == "ab");  // the underscore is gone before the articles are looked for
  CHECK(normalise("  two\twords\n") == "two words");
}

TEST_CASE("the common normal form keeps what is not ASCII") {
  CHECK(normalise("\u201CA\u201D\u2013team") == "\u201C \u201D\u2013team");
  CHECK(normalise("a\u2013team an\u00E9 a\u0301 b") == "\u2013team an\u00E9 \u0301 b");
  CHECK(normalise("the\u00A0\u3000"
                  "cat\x1C"
                  "sat") == "cat sat");
  CHECK(normalise("\uFF21 \uFF22") == "\uFF41 \uFF42");
  CHECK(normalise("\u0130 \u03A3\u0391\u03A3") == "i\u0307 \u03C3\u03B1\u03C2");
  CHECK(normalise("x\u200Ba y") == "x\u200B y");
  CHECK(normalise("na\u00EFve\u2014the\u2014"
                  "end") == "na\u00EFve\u2014 \u2014end");
}

}  // namespace text_test
