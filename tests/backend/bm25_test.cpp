#include <espalier/backend/bm25.hpp>
#include <espalier/core/batch_service.hpp>
#include <espalier/rag/text.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace bm25_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;

static_assert(espalier::detail::BatchFunction<Bm25, Query, Passages>);

namespace {

Passages ask(Bm25& bm25, const std::string& text, std::uint32_t k) {
  const Query query(text, k);
  return bm25({&query, 1}).front();
}

std::vector<std::string> ids(const Passages& passages) {
  std::vector<std::string> result;
  for (const Passage& p : passages) result.push_back(p.id());
  return result;
}

using Ids = std::vector<std::string>;

Analyzer lower_blanks() {
  return {"lower blanks", [](std::string_view text, backend::Analyzer::Terms& terms) {
            const std::string lower = to_lower(text);
            for (const auto& part : rag::detail::split(lower)) terms.add(part);
          }};
}

/// Words w0, w1, ... with word i about as likely as 1 / (i + 1); some passages are equal.
std::vector<Passage> generated_corpus(std::uint32_t passages, std::uint32_t words) {
  Random random{Seed(7)};
  std::vector<Passage> corpus;
  for (std::uint32_t i = 0; i < passages; ++i) {
    std::string text;
    for (std::uint32_t n = random.below(40); n > 0; --n)
      text += "w" + std::to_string(static_cast<std::uint32_t>(std::pow(double(words), random.uniform())) - 1) + " ";
    corpus.emplace_back("p" + std::to_string(i), "t" + std::to_string(i % 50), text);
    if (i % 10 == 9) corpus.emplace_back("q" + std::to_string(i), corpus.back().title(), text);
  }
  return corpus;
}

}  // namespace

TEST_CASE("BM25 gives the published Lucene scores") {
  const std::vector<Passage> corpus = {{"D1", "", "a cat is a feline and likes to purr"},
                                       {"D2", "", "a dog is the human's best friend and loves to play"},
                                       {"D3", "", "a bird is a beautiful animal that can fly"},
                                       {"D4", "", "a fish is a creature that lives in water and swims"}};
  struct Row {
    double k1, b, scores[4];
  };
  for (const Row& row : {Row{1.5, 0.75, {1.070769, 0.501180, 0.062205, 0.519182}},
                         Row{1.2, 0.75, {1.208962, 0.571761, 0.067756, 0.589801}},
                         Row{0.9, 0.4, {1.365392, 0.676309, 0.073576, 0.693658}}}) {
    Bm25 bm25(corpus, {.k1 = row.k1, .b = row.b, .analyzer = lower_blanks()});
    const Passages found = ask(bm25, "does the fish purr like a cat", 10);
    REQUIRE(ids(found) == Ids{"D1", "D4", "D2", "D3"});
    for (const Passage& p : found) CHECK(std::abs(p.score() - row.scores[p.id()[1] - '1']) < 1e-5);
  }
}

TEST_CASE("answers do not depend on the number of threads, the batch or the order of the query's words") {
  const std::vector<Passage> corpus = generated_corpus(20000, 5000);  // more than one block of the build
  std::vector<Query> queries;
  Random random{Seed(3)};
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (int w = 0; w < 6; ++w) text += " w" + std::to_string(random.below(i % 2 ? 20 : 5000));
    queries.emplace_back(text, 10);
  }
  Bm25 one(corpus, {.threads = 1}), four(corpus, {.threads = 4});
  const auto answers = one(queries);
  CHECK(answers == four(queries));
  for (std::size_t i = 0; i < queries.size(); ++i) CHECK(one({&queries[i], 1}).front() == answers[i]);
  CHECK(ask(one, "w3 w40 w500 w3", 20) == ask(one, "w500 w3 w3 w40", 20));
  CHECK(one.fingerprint() == four.fingerprint());
}

TEST_CASE("what cannot match gives an empty list, and k is cut to what there is") {
  Bm25 bm25({{"1", "Title", "alpha"}, {"2", "", "beta"}, {"3", "", ""}});
  CHECK(ask(bm25, "gamma", 5).empty());
  CHECK(ask(bm25, "", 5).empty());
  CHECK(ask(bm25, "?!", 5).empty());
  CHECK(ask(bm25, "alpha beta", 0).empty());
  CHECK(ids(ask(bm25, "title", 5)) == Ids{"1"});  // the title is indexed
  CHECK(ask(bm25, "alpha beta", 4000000000u).size() == 2);
  CHECK(ids(ask(bm25, "alpha", 5)) == Ids{"1"});  // nothing is left of the searches before
  CHECK(bm25({}).empty());
  Bm25 none(std::vector<Passage>{});
  CHECK(ask(none, "alpha", 5).empty());
}

TEST_CASE("a corpus with one id twice is refused") {
  CHECK_THROWS_WITH_AS(Bm25({{"x", "", "1"}, {"y", "", "2"}, {"x", "", "3"}}),
                       "corpus:3: field 'id': 'x' is the id of passage 1 too", InputError);
}

TEST_CASE("options out of range are refused by name") {
  CHECK_THROWS_WITH_AS(Bm25({}, {.k1 = -1}), doctest::Contains("option 'k1'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(Bm25({}, {.k1 = std::nan("")}), doctest::Contains("option 'k1'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(Bm25({}, {.b = 1.5}), doctest::Contains("option 'b'"), std::invalid_argument);
}

TEST_CASE("an analyzer that throws stops the build with its own error") {
  const Analyzer broken(
      "broken", [](std::string_view, backend::Analyzer::Terms&) { throw std::runtime_error("no terms today"); });
  CHECK_THROWS_WITH(Bm25(generated_corpus(20000, 10), {.analyzer = broken, .threads = 3}), "no terms today");
}

TEST_CASE("the fingerprint tells corpus, order, analyzer, k1 and b apart") {
  const Passage a("1", "t", "x"), b("2", "t", "y");
  const Hash base = Bm25({a, b}).fingerprint();
  CHECK(base == Bm25({a, b}, {.threads = 2}).fingerprint());
  const std::set<Hash> others = {base,
                                 Bm25({b, a}).fingerprint(),
                                 Bm25({a}).fingerprint(),
                                 Bm25({a, Passage("2", "ty", "")}).fingerprint(),
                                 Bm25({a, b}, {.k1 = 0.9}).fingerprint(),
                                 Bm25({a, b}, {.b = 0.4}).fingerprint(),
                                 Bm25({a, b}, {.analyzer = lower_blanks()}).fingerprint()};
  CHECK(others.size() == 7);
}

namespace {

/// The string at `at`, just behind its opening quote; moves behind the closing one. Enough JSON for our own data.
std::string json_string(const std::string& line, std::size_t& at) {
  std::string out;
  while (line[at] != '"') {
    if (line[at] != '\\') {
      out += line[at++];
    } else if (line[at + 1] == 'u') {
      append_utf8(out, static_cast<char32_t>(std::stoul(line.substr(at + 2, 4), nullptr, 16)));
      at += 6;
    } else {
      out += line[at + 1] == 'n' ? '\n' : line[at + 1] == 't' ? '\t' : line[at + 1];
      at += 2;
    }
  }
  ++at;
  return out;
}

/// The string, or the strings of the list, under a key.
std::vector<std::string> json_field(const std::string& line, const std::string& key) {
  std::size_t at = line.find("\"" + key + "\": ");
  REQUIRE(at != line.npos);
  at += key.size() + 4;
  std::vector<std::string> values;
  if (line[at] == '"') return {json_string(line, ++at)};
  while (line[at] != ']') {
    if (line[at++] == '"') values.push_back(json_string(line, at));
  }
  return values;
}

/// Mean share of a question's gold titles among the titles of the first k passages, in percent, for each k.
std::vector<double> title_recall(const std::string& folder, Bm25Options options,
                                 const std::vector<std::uint32_t>& cuts) {
  std::vector<Passage> corpus;
  std::ifstream passages(folder + "/corpus.jsonl"), questions(folder + "/questions.jsonl");
  for (std::string line; std::getline(passages, line);) {
    const std::string title = json_field(line, "title")[0];
    corpus.emplace_back(json_field(line, "id")[0], title, json_field(line, "contents")[0].substr(title.size() + 1));
  }
  Bm25 bm25(std::move(corpus), std::move(options));
  std::vector<Query> queries;
  std::vector<std::set<std::string>> gold;
  for (std::string line; std::getline(questions, line);) {
    queries.emplace_back(json_field(line, "question")[0], cuts.back());
    const auto titles = json_field(line, "supporting_titles");
    gold.emplace_back(titles.begin(), titles.end());
  }
  const std::vector<Passages> answers = bm25(queries);
  std::vector<double> recalls;
  for (std::uint32_t k : cuts) {
    double sum = 0;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      std::set<std::string> found;
      for (std::size_t i = 0; i < std::min<std::size_t>(k, answers[q].size()); ++i)
        if (gold[q].contains(answers[q][i].title())) found.insert(answers[q][i].title());
      sum += double(found.size()) / double(gold[q].size());
    }
    recalls.push_back(100 * sum / double(queries.size()));
  }
  return recalls;
}

}  // namespace

TEST_CASE("BM25 reproduces the reference figures on real questions, where the data is at hand") {
  struct Row {
    const char* set;
    std::vector<double> recalls;  // of the first 2, 5, 10 and 20, printed with one decimal
  };
  const Row rows[] = {{"hotpotqa", {58.2, 74.0, 86.0, 92.0}},
                      {"2wikimultihopqa", {55.1, 66.2, 71.3, 73.3}},
                      {"musique", {38.8, 48.2, 54.7, 61.4}},
                      {"popqa", {70.2, 96.4, 99.2, 99.4}},
                      {"nq_open", {73.4, 84.2, 88.8, 91.4}}};
  if (const char* data = std::getenv("ESPALIER_DATA")) {
    for (const Row& row : rows) {
      CAPTURE(row.set);
      const auto recalls = title_recall(data + std::string("/") + row.set, {}, {2, 5, 10, 20});
      for (std::size_t i = 0; i < recalls.size(); ++i) CHECK(std::abs(recalls[i] - row.recalls[i]) < 0.0501);
    }
    CHECK(std::abs(title_recall(data + std::string("/musique"), {.k1 = 0.9, .b = 0.4}, {5})[0] - 46.5) < 0.0501);
  } else {
    MESSAGE("ESPALIER_DATA is not set: the figures of the real sets are not compared");
  }
}

}  // namespace bm25_test
