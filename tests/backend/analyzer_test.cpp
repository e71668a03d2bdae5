#include <espalier/backend/detail/lexical/english.hpp>
#include <espalier/backend/lexical/analyzer.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace analyzer_test {

using namespace espalier::backend;
using Words = std::vector<std::string>;
using espalier::backend::detail::PorterStemmer;
using espalier::backend::detail::standard_words;
using Views = std::vector<std::string_view>;

TEST_CASE("the simple analyzer folds and keeps runs of letters and digits") {
  const Analyzer simple = Analyzer::simple();
  CHECK(simple.name() == "simple");
  CHECK(simple("") == Words{});
  CHECK(simple("The U.S., 1,000_a!") == Words{"the", "u", "s", "1", "000", "a"});
  CHECK(simple("Stra\u00DFe \uFF21\uFF22 \uFB01n \u00B2") == Words{"strasse", "ab", "fin", "2"});
  CHECK(simple("Ame\u0301lie\u2019s") == Words{"am\u00E9lie", "s"});
  CHECK(simple("x\u0301y") == Words{"x", "y"});  // a mark that composes with nothing is no letter
}

TEST_CASE("the English analyzer splits, drops possessives and stop words, lowers and stems") {
  const Analyzer english = Analyzer::english_lucene();
  CHECK(english.name() == "english-lucene");
  CHECK(english("The cat's toys") == Words{"cat", "toi"});
  CHECK(english("Who is the spouse of the actor who played in Titanic?") ==
        Words{"who", "spous", "actor", "who", "plai", "titan"});
  CHECK(english("O\u2019Neill\u2019s U.S. ponies\uFF07s CAT'S") == Words{"o\u2019neil", "u.", "poni", "cat"});
  CHECK(english("To be, or not to be") == Words{});
  CHECK(english("Universities of the \u00C9cole 1990s") == Words{"univers", "\u00E9cole", "1990"});
}

TEST_CASE("exactly the 33 stop words are dropped") {
  const Analyzer english = Analyzer::english_lucene();
  for (const char* word : {"a",   "an",    "and",  "are",   "as",    "at",   "be",   "but", "by",  "for",  "if",
                           "in",  "into",  "is",   "it",    "no",    "not",  "of",   "on",  "or",  "such", "that",
                           "the", "their", "then", "there", "these", "they", "this", "to",  "was", "will", "with"})
    CHECK_MESSAGE(english(word).empty(), word);
  for (const char* word : {"i", "he", "who", "from", "has", "were", "its"})
    CHECK_MESSAGE(english(word).size() == 1, word);
}

TEST_CASE("analyzers are found by name, and a bad name with all of them") {
  CHECK(Analyzer::named("simple")("A-b") == Words{"a", "b"});
  CHECK(Analyzer::named("english-lucene")("cats") == Words{"cat"});
  CHECK_THROWS_WITH_AS(Analyzer::named("english"), "option 'analyzer' is english, allowed: simple, english-lucene",
                       std::invalid_argument);
}

TEST_CASE("used terms are cleared, and words across ASCII and other letters stay whole") {
  const Analyzer simple = Analyzer::simple();
  Analyzer::Terms terms;
  simple("many words of the text before", terms);
  simple(
      "Zo\u00EBlle NA\u00CFVETE\u0301e x\u2014y \xFF"
      "b \xC3",
      terms);
  Words words;
  for (std::size_t i = 0; i < terms.size(); ++i) words.emplace_back(terms[i]);
  CHECK(words == Words{"zo\u00EBlle", "na\u00EFvet\u00E9e", "x", "y", "b"});
}

// Pairs are the examples that the algorithm's description gives for each rule, carried through all steps by hand and
// confirmed with an independent implementation (Snowball's).
TEST_CASE("Porter stems follow the rules of each step") {
  std::istringstream known(R"(
      caresses caress  ponies poni  ties ti  caress caress  cats cat
      feed feed  agreed agre  plastered plaster  bled bled  motoring motor  sing sing  conflated conflat
      troubled troubl  sized size  hopping hop  tanned tan  falling fall  hissing hiss  fizzed fizz  failing fail
      filing file
      happy happi  sky sky
      relational relat  conditional condit  rational ration  digitizer digit  radically radic  differently differ
      vilely vile  analogously analog  vietnamization vietnam  predication predic  operator oper  feudalism feudal
      decisiveness decis  hopefulness hope  callousness callous  formality formal  sensitivity sensit
      sensibility sensibl
      triplicate triplic  formative form  formalize formal  electricity electr  electrical electr  goodness good
      revival reviv  allowance allow  airliner airlin  adjustable adjust  replacement replac  adjustment adjust
      dependent depend  adoption adopt  extension extens  communism commun  homologous homolog  effective effect
      probate probat  rate rate  cease ceas  controll control  roll roll
      generalizations gener  oscillators oscil  university univers  queen queen)");
  int words = 0;
  for (std::string word, stem; known >> word >> stem; ++words) CHECK_MESSAGE(PorterStemmer::stem(word) == stem, word);
  CHECK(words == 68);
}

TEST_CASE("the author's two later changes hold") {
  CHECK(PorterStemmer::stem("possibly") == "possibl");        // bli, not abli alone
  CHECK(PorterStemmer::stem("archaeology") == "archaeolog");  // logi
  CHECK(PorterStemmer::stem("trekking") == "trek");
}

TEST_CASE("words of one or two letters stay") {
  for (const char* word : {"", "s", "as", "is", "\u00E9s"}) CHECK(PorterStemmer::stem(word) == word);
}

TEST_CASE("words that are not all ASCII letters lose their endings whole") {
  CHECK(PorterStemmer::stem("caf\u00E9s") == "caf\u00E9");
  CHECK(PorterStemmer::stem("1990s") == "1990");
  CHECK(PorterStemmer::stem("a\u2020\u2020ing") == "a\u2020\u2020");  // no half of a doubled character goes
}

TEST_CASE("words are runs of letters and digits") {
  CHECK(standard_words("") == Views{});
  CHECK(standard_words("  ...!? ") == Views{});
  CHECK(standard_words("Jean-Luc, b2b (R2-D2)") == Views{"Jean", "Luc", "b2b", "R2", "D2"});
  CHECK(standard_words("caf\u00E9 \u041C\u043E\u0441\u043A\u0432\u0430") ==
        Views{"caf\u00E9", "\u041C\u043E\u0441\u043A\u0432\u0430"});
}

TEST_CASE("one mark inside a word joins it, two or one of the wrong kind do not") {
  CHECK(standard_words("can't O\u2019Neill's") == Views{"can't", "O\u2019Neill's"});
  CHECK(standard_words("U.S. e.g. www.a.b") == Views{"U.S", "e.g", "www.a.b"});
  CHECK(standard_words("1,000.5 3;4 1:2") == Views{"1,000.5", "3;4", "1", "2"});
  CHECK(standard_words("a,b a;b a:b") == Views{"a", "b", "a", "b", "a:b"});
  CHECK(standard_words("a..b 'quoted' v1.a") == Views{"a", "b", "quoted", "v1", "a"});
}

TEST_CASE("underscores join and hang on, alone they are no word") {
  CHECK(standard_words("foo_bar _x_ __") == Views{"foo_bar", "_x_"});
}

TEST_CASE("marks belong to the character before them") {
  CHECK(standard_words("e\u0301te\u0301 x\u0301.\u0301y") == Views{"e\u0301te\u0301", "x\u0301.\u0301y"});
  CHECK(standard_words("\u0301 a") == Views{"a"});
}

TEST_CASE("ideographs and hiragana stand alone, katakana runs on, superscripts are no letters") {
  CHECK(standard_words("\u6771\u4EAC\u306E\u30BF\u30EF\u30FC") ==
        Views{"\u6771", "\u4EAC", "\u306E", "\u30BF\u30EF\u30FC"});
  CHECK(standard_words("km\u00B2 \u00BD") == Views{"km"});
  CHECK(standard_words("x\u6771y") == Views{"x", "\u6771", "y"});
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
                       "cd\xC3") == Views{"ab", "cd"});
}

}  // namespace analyzer_test
