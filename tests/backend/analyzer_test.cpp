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
using namespace espalier::backend::detail;
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

TEST_CASE("scripts without spaces are read by bigrams of their characters") {
  const Analyzer simple = Analyzer::simple();
  CHECK(simple("东京塔高333米。iPhone手机x") == Words{"东京", "京塔", "塔高", "333", "米", "iphone", "手机", "x"});
  CHECK(simple("東京タワー ｶﾞﾗｽ ・塔・") == Words{"東京", "京タ", "タワ", "ワー", "ガラ", "ラス", "塔"});
  CHECK(simple("서울은 \u1109\u1165\u110B\u116E\u11AF") == Words{"서울", "울은", "서울"});
  CHECK(simple("กรุงเท ๒๕") == Words{"กรุ", "รุง", "งเ", "เท", "๒๕"});  // vowels and tones belong to their letter
  CHECK(simple("𠮷野家 葛\U000E0100城\u200B市") == Words{"𠮷野", "野家", "葛城", "城市"});  // unseen marks
  CHECK(simple("བོད་སྐད་ ꆈꌠꁱ") == Words{"བོད", "སྐད", "ꆈꌠ", "ꌠꁱ"});
  CHECK(simple("café αβγ ابت ქართული").size() == 4);  // other scripts have spaces
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

TEST_CASE("used terms are cleared, words across ASCII and other letters stay whole, and lengths are those of runs") {
  const Analyzer simple = Analyzer::simple();
  Analyzer::Terms terms;
  simple("see 東京タワー333m, x", terms);  // a passage weighs what it weighed without bigrams: three runs
  CHECK((terms.size() == 7 && terms.length() == 3));
  simple("Zoëlle NAÏVETE\u0301e x—y \xFF\142 \xC3", terms);
  REQUIRE((terms.size() == 5 && terms.length() == 5));
  CHECK((terms[0] == "zoëlle" && terms[1] == "naïvetée" && terms[2] == "x" && terms[3] == "y" && terms[4] == "b"));
}

// Pairs are the examples of the algorithm's description for each rule, carried through all steps by hand.
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
      generalizations gener  oscillators oscil  university univers  queen queen
      possibly possibl  archaeology archaeolog  trekking trek  s s  as as  is is  és és  cafés café  1990s 1990
      a††ing a††)");  // the author's two later changes, short words, and no half of a letter that is not ASCII
  int words = 0;
  for (std::string word, stem; known >> word >> stem; ++words) CHECK_MESSAGE(PorterStemmer::stem(word) == stem, word);
  CHECK(words == 78);
  CHECK(PorterStemmer::stem("").empty());
}

TEST_CASE("standard words: runs, marks inside and behind, underscores, ideographs alone, katakana together") {
  std::istringstream known(R"(  ...!? =
Jean-Luc, b2b (R2-D2) = Jean Luc b2b R2 D2
café Москва = café Москва
can't O’Neill's = can't O’Neill's
U.S. e.g. www.a.b = U.S e.g www.a.b
1,000.5 3;4 1:2 = 1,000.5 3;4 1 2
a,b a;b a:b = a b a b a:b
a..b 'quoted' v1.a = a b quoted v1 a
foo_bar _x_ __ = foo_bar _x_
東京のタワー km² ½ x東y = 東 京 の タワー km x 東 y
)");
  for (std::string line; std::getline(known, line);) {
    std::istringstream words(line.substr(line.find('=') + 1));
    Words found;
    for (const std::string_view word : standard_words(std::string_view(line).substr(0, line.find('='))))
      found.emplace_back(word);
    CHECK_MESSAGE(found == Words(std::istream_iterator<std::string>(words), {}), line);
  }
  CHECK(standard_words("e\u0301te\u0301 x\u0301.\u0301y") == Views{"e\u0301te\u0301", "x\u0301.\u0301y"});
  CHECK(standard_words("\u0301 a") == Views{"a"});
  CHECK(standard_words("ab\xFF\143d\xC3") == Views{"ab", "cd"});
}

TEST_CASE("a word longer than 255 code points is cut") {
  const std::string a(600, 'a');
  const std::string_view view(a);
  CHECK(standard_words(a) == Views{view.substr(0, 255), view.substr(0, 255), view.substr(0, 90)});
}

}  // namespace analyzer_test
