#include <espalier/backend/lexical/analyzer.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace analyzer_test {

using namespace espalier::backend;
using Words = std::vector<std::string>;

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

}  // namespace analyzer_test
