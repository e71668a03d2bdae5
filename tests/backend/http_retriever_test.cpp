#include <espalier/backend/http_retriever.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace http_retriever_test {

using namespace espalier::test::names;
using Kind = BackendError::Kind;
using Api = HttpRetrieverOptions::Api;

namespace {

HttpRetrieverOptions options(const FaultServer& server, HttpRetrieverOptions more = {}, const std::string& path = "") {
  more.url = server.url(path);
  more.name = "corpus";
  more.http = test::quick(std::move(more.http));
  return more;
}
/// What one query for three passages gets when the server sends `reply`.
Passages passages_of(const std::string& reply) {
  FaultServer server(Answer{.body = reply});
  HttpRetriever retriever(options(server));
  return test::ask(retriever, {Query("q", 3)})[0].value();
}
test::Failure failure_under(const Answer& answer, std::size_t queries = 1) {
  FaultServer server(answer);
  HttpRetriever retriever(options(server, {.http = {.max_attempts = 2}}));
  return test::failure_of(test::ask(retriever, std::vector<Query>(queries, Query("q", 3)))[0]);
}
bool same(const Passage& passage, const std::string& id, const std::string& title, const std::string& text,
          double score) {
  CAPTURE(passage.id());
  CAPTURE(passage.title());
  CAPTURE(passage.text());
  const bool equal = passage == Passage(id, title, text, score);
  CHECK(equal);
  return equal;
}

}  // namespace

TEST_CASE("queries of equal k travel together and get their own results in order") {
  FaultServer server([](const Received& request, std::size_t) {
    std::string results;
    const std::string queries = request.body.substr(0, request.body.find(']'));
    for (std::size_t at = queries.find('['); (at = queries.find("\"q", at)) != std::string::npos; ++at) {
      const std::string query = queries.substr(at + 1, 2);
      results += (results.empty() ? "" : ",") + std::string(R"([{"document":{"id":")") + query +
                 R"(","contents":"\"T\"\ntext"},"score":1.5}])";
    }
    return Answer{.body = R"({"result":[)" + results + "]}"};
  });
  HttpRetriever retriever(options(server, {.batch = 3, .http = {.max_in_flight = 1}}));
  const auto outcomes = test::ask(
      retriever, {Query("q0", 3), Query("q1", 3), Query("q2", 3), Query("q3", 3), Query("q4", 5), Query("q5", 5)});
  for (std::size_t i = 0; i < 6; ++i) {
    REQUIRE(outcomes[i].value().size() == 1);
    same(outcomes[i].value()[0], "q" + std::to_string(i), "T", "text", 1.5);
  }
  const auto requests = server.received();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].path == "/retrieve");
  CHECK(requests[0].body == R"({"queries":["q0","q1","q2"],"topk":3,"return_scores":true})");
  CHECK(requests[1].body == R"({"queries":["q3"],"topk":3,"return_scores":true,"query":"q3","top_k":3})");
  CHECK(requests[2].body == R"({"queries":["q4","q5"],"topk":5,"return_scores":true})");
  CHECK(retriever.accounts().requests == 3);
  CHECK(retriever.accounts().paid_applied == 6);
}

TEST_CASE("hits are read in every shape in use") {
  // Search-R1 with scores, the id as a number; without scores.
  auto found = passages_of(R"({"result":[[{"document":{"id":7,"contents":"\"Paris\"\nCapital of\nFrance."},"score":2.5},
                                          {"document":{"id":"8","contents":"Rome\r\nCapital of Italy."},"score":-1}]]})");
  REQUIRE(found.size() == 2);
  same(found[0], "7", "Paris", "Capital of\nFrance.", 2.5);
  same(found[1], "8", "Rome", "Capital of Italy.", -1);
  found = passages_of(R"({"result":[[{"id":"a","contents":"\"A\" and \"B\"\nx"}]]})");
  same(found.at(0), "a", "A\" and \"B", "x", 0);
  // The rerank server's document is a text; web servers give neither id nor score; one line has no title.
  const auto id = [](std::string_view title, std::string_view text) {
    return Hasher().add(title).add(text).finish().hex();
  };
  found = passages_of(
      R"({"result":[[{"document":"\"T\"\nx","score":0.5},{"document":{"contents":"only a text"}},"\"U\"\ny"]]})");
  REQUIRE(found.size() == 3);
  same(found[0], id("T", "x"), "T", "x", 0.5);
  same(found[1], id("", "only a text"), "", "only a text", 0);
  same(found[2], id("U", "y"), "U", "y", 0);
  // DecoupleSearch: a bare list; FlashRAG: title and text beside contents; IRCoT: paragraphs behind "retrieval".
  found = passages_of(R"([{"id":"d1","text":"\"looks like a title\"\nbut is text"},{"id":"d2","text":"z","score":3}])");
  REQUIRE(found.size() == 2);
  same(found[0], "d1", "", "\"looks like a title\"\nbut is text", 0);
  same(found[1], "d2", "", "z", 3);
  found = passages_of(
      R"({"result":[[{"id":"f","title":"T","text":"x","contents":"T\nx","score":1},{"id":"g","title":"T","contents":"S\nx"}]]})");
  REQUIRE(found.size() == 2);
  same(found[0], "f", "T", "x", 1);
  same(found[1], "g", "T", "S\nx", 0);
  found = passages_of(R"({"retrieval":[{"wikipedia_title":"T","paragraph_text":"x","score":4}]})");
  same(found.at(0), id("T", "x"), "T", "x", 4);
  found = passages_of(R"({"results":[{"title":"T","snippet":"x","link":"http://a"}]})");  // of the web
  same(found.at(0), id("T", "x"), "T", "x", 0);
  found = passages_of(R"({"result":[{"id":"e","contents":"T\nx"}]})");
  same(found.at(0), "e", "T", "x", 0);
}

TEST_CASE("Search-R1's reranking server is told both depths at its own path and its plain documents are read") {
  FaultServer server(Answer{.body = R"({"result":[[{"document":"\"T\"\nx","score":0.5}]]})"});
  HttpRetriever retriever(options(server, {.api = Api::rerank, .rerank_depth = 20}, "/other/search?index=wiki"));
  CHECK(test::ask(retriever, {Query("q", 3)})[0].value().at(0).text() == "x");
  CHECK(server.received()[0].path == "/other/search?index=wiki");
  CHECK(server.received()[0].body ==
        R"({"queries":["q"],"topk":3,"return_scores":true,"topk_retrieval":20,"topk_rerank":3})");
  CHECK(retriever.fingerprint() != HttpRetriever(options(server)).fingerprint());
}

TEST_CASE("Pyserini's server is asked by GET, a query a request") {
  FaultServer server(Answer{
      .body =
          R"({"api":"v1","index":"wiki","query":{"text":"q"},"candidates":[{"docid":"d7","score":4.5,"rank":1,"doc":{"contents":"\"T\"\nx"}},
                                                                                           {"docid":"d8","score":4,"doc":"plain"}]})"});
  HttpRetriever retriever(
      options(server, {.api = Api::pyserini, .http = {.max_in_flight = 1}}, "/v1/wiki/search?k1=0.9&b=0.4"));
  const auto outcomes = test::ask(retriever, {Query("who & when? \xC3\xA9", 3), Query("r", 3)});
  REQUIRE(outcomes[0].value().size() == 2);
  same(outcomes[0].value()[0], "d7", "T", "x", 4.5);
  same(outcomes[0].value()[1], "d8", "", "plain", 4);
  REQUIRE(server.received().size() == 2);
  CHECK(server.received()[0].path == "/v1/wiki/search?k1=0.9&b=0.4&query=who%20%26%20when%3F%20%C3%A9&hits=3");
  CHECK(server.received()[0].body.empty());
}

TEST_CASE("Elasticsearch answers a batch of searches") {
  FaultServer server(Answer{
      .body =
          R"({"took":1,"responses":[{"hits":{"hits":[{"_index":"w","_id":"e1","_score":7.5,"_source":{"title":"T","text":"x"}}]},"status":200},
                                                    {"hits":{"hits":[]},"status":200}]})"});
  HttpRetriever retriever(options(server, {.api = Api::elasticsearch}, "/wiki/_msearch"));
  const auto outcomes = test::ask(retriever, {Query("a\nb", 3), Query("c", 3)});
  same(outcomes[0].value().at(0), "e1", "T", "x", 7.5);
  CHECK(outcomes[1].value().empty());
  CHECK(
      server.received()[0].body ==
      "{}\n{\"size\":3,\"query\":{\"multi_match\":{\"query\":\"a\\nb\",\"fields\":[\"title\",\"contents\",\"text\"]}}}"
      "\n"
      "{}\n{\"size\":3,\"query\":{\"multi_match\":{\"query\":\"c\",\"fields\":[\"title\",\"contents\",\"text\"]}}}\n");
  CHECK(
      failure_under(
          {.body =
               R"({"responses":[{"error":{"type":"index_not_found_exception","reason":"no such index"},"status":404}]})"})
          .kind == Kind::permanent);
}

TEST_CASE("more hits than wanted are cut, fewer are kept") {
  CHECK(passages_of(R"({"result":[["a","b","c","d","e"]]})").size() == 3);
  CHECK(passages_of(R"({"result":[["a"]]})").size() == 1);
  CHECK(passages_of(R"({"result":[[]]})").empty());
  CHECK(passages_of("[]").empty());
}

TEST_CASE("what is not a result for each query is damage") {
  for (const std::string body :
       {R"({"result":[]})", R"({"result":[["a"],["b"]]})", R"({"result":null})", R"({"answer":[["a"]]})", "<html>", "",
        R"({"result":[[null]]})", R"({"result":[[{"id":"a"}]]})", R"({"result":[[{"document":{"contents":4}}]]})",
        "7"}) {
    CAPTURE(body);
    const auto failure = failure_under({.body = body});
    CHECK(failure.kind == Kind::transport);
    CHECK(failure.message.find("/retrieve: ") != std::string::npos);
    CHECK(failure.message.find("(given up after attempt 2)") != std::string::npos);
  }
  CHECK(failure_under({.body = R"({"result":[["a"]]})"}, 2).message.find("1 results for 2 queries") !=
        std::string::npos);
  CHECK(failure_under({.body = R"(["a","b"])"}, 2).message.find("not a list") != std::string::npos);
  CHECK(failure_under({.body = R"({"result":[["a"],7]})"}, 2).kind == Kind::transport);
}

TEST_CASE("a failure has its kind, and a message that failed is sent again whole") {
  CHECK(failure_under({.body = R"({"detail":"no index"})", .status = 404}).kind == Kind::permanent);
  CHECK(failure_under({.status = 503}).kind == Kind::transport);
  FaultServer server([](const Received&, std::size_t number) {
    return number == 0 ? Answer{.status = 500} : Answer{.body = R"({"result":[["a"],["b"]]})"};
  });
  HttpRetriever retriever(options(server));
  const auto outcomes = test::ask(retriever, {Query("x", 1), Query("y", 1)});
  CHECK(outcomes[0].value()[0].text() == "a");
  CHECK(outcomes[1].value()[0].text() == "b");
  CHECK(retriever.accounts().requests == 2);
}

TEST_CASE("retriever options are checked and the name is the fingerprint") {
  CHECK_THROWS_WITH_AS(HttpRetriever({.name = ""}), doctest::Contains("'name'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(HttpRetriever({.name = "n", .batch = 0}), doctest::Contains("'batch'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(HttpRetriever({.url = "nowhere", .name = "n"}), doctest::Contains("'url'"),
                       std::invalid_argument);
  CHECK(HttpRetriever({.url = "http://a", .name = "n"}).fingerprint() ==
        HttpRetriever({.url = "http://b", .name = "n"}).fingerprint());
  CHECK(HttpRetriever({.name = "n"}).fingerprint() != HttpRetriever({.name = "m"}).fingerprint());
}

}  // namespace http_retriever_test
