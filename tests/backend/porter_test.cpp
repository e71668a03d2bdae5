#include <espalier/backend/detail/lexical/porter.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace porter_test {

using espalier::backend::detail::PorterStemmer;

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

}  // namespace porter_test
