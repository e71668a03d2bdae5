#include <espalier/backend/analyzer.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace espalier::backend;
using Terms = std::vector<std::string>;

TEST_CASE("the simple analyzer folds and keeps runs of letters and digits") {
  const Analyzer simple = simple_analyzer();
  CHECK(simple.name() == "simple");
  CHECK(simple("") == Terms{});
  CHECK(simple("The U.S., 1,000_a!") == Terms{"the", "u", "s", "1", "000", "a"});
  CHECK(simple("Stra\u00DFe \uFF21\uFF22 \uFB01n \u00B2") == Terms{"strasse", "ab", "fin", "2"});
  CHECK(simple("Ame\u0301lie\u2019s") == Terms{"am\u00E9lie", "s"});
  CHECK(simple("x\u0301y") == Terms{"x", "y"});  // a mark that composes with nothing is no letter
}

TEST_CASE("the English analyzer splits, drops possessives and stop words, lowers and stems") {
  const Analyzer english = english_lucene_analyzer();
  CHECK(english.name() == "english-lucene");
  CHECK(english("The cat's toys") == Terms{"cat", "toi"});
  CHECK(english("Who is the spouse of the actor who played in Titanic?") ==
        Terms{"who", "spous", "actor", "who", "plai", "titan"});
  CHECK(english("O\u2019Neill\u2019s U.S. ponies\uFF07s CAT'S") == Terms{"o\u2019neil", "u.", "poni", "cat"});
  CHECK(english("To be, or not to be") == Terms{});
  CHECK(english("Universities of the \u00C9cole 1990s") == Terms{"univers", "\u00E9cole", "1990"});
}

TEST_CASE("exactly the 33 stop words are dropped") {
  const Analyzer english = english_lucene_analyzer();
  for (const char* word : {"a",   "an",    "and",  "are",   "as",    "at",   "be",   "but", "by",  "for",  "if",
                           "in",  "into",  "is",   "it",    "no",    "not",  "of",   "on",  "or",  "such", "that",
                           "the", "their", "then", "there", "these", "they", "this", "to",  "was", "will", "with"})
    CHECK_MESSAGE(english(word).empty(), word);
  for (const char* word : {"i", "he", "who", "from", "has", "were", "its"})
    CHECK_MESSAGE(english(word).size() == 1, word);
}

TEST_CASE("analyzers are found by name, and a bad name is answered with the nearest") {
  CHECK(analyzer("simple")("A-b") == Terms{"a", "b"});
  CHECK(analyzer("english-lucene")("cats") == Terms{"cat"});
  CHECK_THROWS_WITH_AS(analyzer("english"), doctest::Contains("did you mean"), std::invalid_argument);
}
