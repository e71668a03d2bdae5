#include <espalier/backend/http_encoder.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace http_encoder_test {

using namespace espalier::test::names;
using Kind = BackendError::Kind;

namespace {

HttpEncoderOptions options(const FaultServer& server, HttpEncoderOptions more = {}) {
  return test::served_at(server.url("/v1"), std::move(more));
}
std::string item(int index, const std::string& embedding) {
  return R"({"object":"embedding","index":)" + std::to_string(index) + R"(,"embedding":)" + embedding + "}";
}
test::Failure failure_under(const std::string& body) {
  FaultServer server(Answer{.body = body});
  HttpEncoder encoder(options(server, {.http = {.max_attempts = 2}}));
  const auto outcomes = test::ask(encoder, {EncodeRequest("a", Role::query), EncodeRequest("b", Role::query)});
  CHECK(encoder.accounts().requests == 2);
  return test::failure_of(outcomes[1]);
}

}  // namespace

TEST_CASE("texts travel in batches under their prefixes, and embeddings are sorted by index") {
  FaultServer server([](const Received&, std::size_t number) {
    return Answer{.body = number == 0 ? R"({"data":[)" + item(1, "[0,-2]") + "," + item(0, "[1.5,0.25]") + "]}"
                                      : R"({"data":[)" + item(0, "[3e0,4]") + "]}"};
  });
  const EncoderProfile profile{.query_prefix = "query: ", .passage_prefix = "passage: "};
  HttpEncoder encoder(options(server, {.profile = profile, .batch = 2, .http = {.max_in_flight = 1}}));
  const auto outcomes = test::ask(encoder, {EncodeRequest("who", Role::query), EncodeRequest("he", Role::passage),
                                            EncodeRequest("she", Role::passage)});
  CHECK(outcomes[0].value() == Embedding{1.5f, 0.25f});
  CHECK(outcomes[1].value() == Embedding{0, -2});
  CHECK(outcomes[2].value() == Embedding{3, 4});
  REQUIRE(server.received().size() == 2);
  CHECK(server.received()[0].path == "/v1/embeddings");
  CHECK(server.received()[0].body == R"({"model":"m","input":["query: who","passage: he"],"encoding_format":"float"})");
  CHECK(server.received()[1].body == R"({"model":"m","input":["passage: she"],"encoding_format":"float"})");
}

TEST_CASE("embeddings can be scaled to length 1") {
  FaultServer server(Answer{.body = R"({"data":[)" + item(0, "[3,4]") + "," + item(1, "[0,0]") + "]}"});
  HttpEncoder encoder(options(server, {.profile = {.normalise = true}}));
  const auto outcomes = test::ask(encoder, {EncodeRequest("a", Role::query), EncodeRequest("b", Role::query)});
  CHECK(outcomes[0].value() == Embedding{0.6f, 0.8f});
  CHECK(outcomes[1].value() == Embedding{0, 0});
}

TEST_CASE("anything but one embedding of the right dimension for each text is damage") {
  const std::string good = item(0, "[1,2]") + ",";
  for (const std::string& body :
       {std::string("<html>"), std::string(R"({"data":[]})"), R"({"data":[)" + item(0, "[1,2]") + "]}",
        R"({"data":[)" + good + item(0, "[1,2]") + "]}", R"({"data":[)" + good + item(2, "[1,2]") + "]}",
        R"({"data":[)" + good + item(1, "[1]") + "]}", R"({"data":[)" + good + item(1, "[]") + "]}",
        R"({"data":[)" + good + item(1, "[1,null]") + "]}", R"({"data":[)" + good + item(1, "[1,1e99]") + "]}",
        R"({"data":[)" + good + item(1, R"("AADAfwAAwH8=")") + "]}", R"({"data":[)" + good + item(1, "null") + "]}",
        R"({"data":[)" + good + R"({"index":1}]})", R"({"data":[)" + good + R"({"embedding":[1,2]}]})"}) {
    CAPTURE(body);
    CHECK(failure_under(body).kind == Kind::transport);
  }
  const auto failure = failure_under(R"({"data":[)" + good + item(1, "[3,4,5]") + "]}");
  CHECK(failure.message.find("dimension 3 instead of 2") != std::string::npos);
}

TEST_CASE("the route beside OpenAI's, with vectors in a list of their own, is refused for good") {
  FaultServer server(Answer{.body = R"([{"index":0,"embedding":[[1,2],[3,4]]}])"});
  HttpEncoder encoder(options(server));
  const auto failure = test::failure_of(test::ask(encoder, {EncodeRequest("a", Role::query)})[0]);
  CHECK(failure.kind == Kind::permanent);
  CHECK(failure.message.find("give the URL up to /v1") != std::string::npos);
  CHECK(encoder.accounts().requests == 1);
  for (const char* damaged :
       {R"([])", R"([{"index":0}])", R"([{"index":0,"embedding":[]}])", R"([{"index":0,"embedding":[1,2]}])"}) {
    CAPTURE(damaged);
    CHECK(failure_under(damaged).kind == Kind::transport);
  }
}

TEST_CASE("a text that the server refuses takes no other with it") {
  FaultServer server([](const Received& request, std::size_t) -> Answer {
    if (request.body.find("too long") != std::string::npos)
      return {.body = R"({"error":{"message":"input too long"}})", .status = 400};
    return {.body = R"({"data":[)" + item(0, "[1,2]") + "]}"};
  });
  HttpEncoder encoder(options(server));
  const auto outcomes = test::ask(encoder, {EncodeRequest("a", Role::query), EncodeRequest("too long", Role::query),
                                            EncodeRequest("b", Role::query)});
  CHECK(outcomes[0].ok());
  CHECK(test::failure_of(outcomes[1]).kind == Kind::too_long);
  CHECK(test::failure_of(outcomes[1]).message.find("HTTP 400: input too long") != std::string::npos);
  CHECK(outcomes[2].ok());
  CHECK(encoder.accounts().requests == 4);
}

TEST_CASE("the dimension of the first embedding holds for all") {
  FaultServer server([](const Received&, std::size_t number) {
    return Answer{.body = R"({"data":[)" + item(0, number == 1 ? "[1]" : "[1,2]") + "]}"};
  });
  HttpEncoder encoder(options(server));
  CHECK(test::ask(encoder, {EncodeRequest("a", Role::query)})[0].ok());
  CHECK(test::ask(encoder, {EncodeRequest("b", Role::query)})[0].value().size() == 2);
  CHECK(encoder.accounts().requests == 3);
  CHECK(encoder.accounts().paid_failed == 1);
}

TEST_CASE("encoder options are checked, and the fingerprint covers what shapes an embedding") {
  CHECK_THROWS_WITH_AS(HttpEncoder({.model = ""}), doctest::Contains("'name'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(HttpEncoder({.model = "m", .batch = 0}), doctest::Contains("'batch'"), std::invalid_argument);
  const Hash base = HttpEncoder({.model = "m"}).fingerprint();
  CHECK(HttpEncoder({.url = "https://elsewhere", .model = "m", .batch = 3}).fingerprint() == base);
  CHECK(HttpEncoder({.model = "m", .revision = "2"}).fingerprint() != base);
  CHECK(HttpEncoder({.model = "m", .profile = {.query_prefix = "q"}}).fingerprint() !=
        HttpEncoder({.model = "m", .profile = {.passage_prefix = "q"}}).fingerprint());
  CHECK(HttpEncoder({.model = "m", .profile = {.normalise = true}}).fingerprint() != base);
  CHECK(base.hex() == "7d20fe99418aa9794fd4e317eff4a23d");  // journals hold it
}

TEST_CASE("profiles are known by name") {
  const EncodeRequest query("who", Role::query), passage("he", Role::passage);
  CHECK(EncoderProfile::named("e5").prefixed(query) == "query: who");
  CHECK(EncoderProfile::named("e5").prefixed(passage) == "passage: he");
  CHECK(EncoderProfile::named("bge").prefixed(query) == "Represent this sentence for searching relevant passages: who");
  CHECK(EncoderProfile::named("bge").prefixed(passage) == "he");
  CHECK(EncoderProfile::named("bge").pooling == EncoderProfile::Pooling::cls);
  CHECK(EncoderProfile::named("minilm").max_tokens == 256);
  CHECK(EncoderProfile::named("none").prefixed(query) == "who");
  CHECK_THROWS_WITH_AS((void)EncoderProfile::named("e6"), doctest::Contains("none, e5, e5-instruct, bge, gte, minilm"),
                       std::invalid_argument);
  const auto fingerprint = [](const char* name) {
    return HttpEncoder({.model = "e", .profile = EncoderProfile::named(name)}).fingerprint();
  };
  CHECK(fingerprint("e5") != fingerprint("bge"));
  CHECK(fingerprint("none") != fingerprint("gte"));
}

TEST_CASE("a server of llama.cpp's is sent the first tokens of a long text and its last one") {
  FaultServer server([](const Received& request, std::size_t) -> Answer {
    if (request.path == "/tokenize")
      return {.body = request.body.find("abcdefgh") != std::string::npos ? R"({"tokens":[101,7,8,9,10,11,102]})"
                                                                         : R"({"tokens":[101,5,102]})"};
    return {.body = R"({"data":[)" + item(0, "[1,2]") + "]}"};
  });
  const EncoderProfile profile{.query_prefix = "q:", .max_tokens = 5};
  HttpEncoder encoder(
      options(server, {.profile = profile, .llamacpp = true, .batch = 1, .http = {.max_in_flight = 1}}));
  CHECK(test::ask(encoder, {EncodeRequest("abcdefgh", Role::query)})[0].value() == Embedding{1, 2});
  CHECK(test::ask(encoder, {EncodeRequest("wxyz", Role::passage)})[0].value() == Embedding{1, 2});
  CHECK(test::ask(encoder, {EncodeRequest("abc", Role::passage)})[0].value() == Embedding{1, 2});
  const auto sent = server.received();
  REQUIRE(sent.size() == 5);
  CHECK(sent[0].path == "/tokenize");
  CHECK(sent[0].body == R"({"content":"q:abcdefgh","add_special":true})");
  CHECK(sent[1].body == R"({"model":"m","input":[[101,7,8,9,102]],"encoding_format":"float"})");
  CHECK(sent[3].body == R"({"model":"m","input":[[101,5,102]],"encoding_format":"float"})");
  CHECK(sent[4].body ==
        R"({"model":"m","input":["abc"],"encoding_format":"float"})");  // three bytes are three tokens at most
}

TEST_CASE("other servers are told where to cut, and a cut needs a length") {
  FaultServer server(Answer{.body = R"({"data":[)" + item(0, "[1,2]") + "]}"});
  HttpEncoder encoder(options(server, {.profile = {.max_tokens = 256}}));
  CHECK(test::ask(encoder, {EncodeRequest("abc", Role::query)})[0].ok());
  CHECK(server.received()[0].body ==
        R"({"model":"m","input":["abc"],"encoding_format":"float","truncate_prompt_tokens":256})");
  CHECK_THROWS_WITH_AS(HttpEncoder({.model = "e", .profile = {.max_tokens = 2}}), doctest::Contains("'max_tokens'"),
                       std::invalid_argument);
}

TEST_CASE("tokens that do not come, come damaged or are refused") {
  FaultServer server([](const Received& request, std::size_t) -> Answer {
    if (request.body.find("refused") != std::string::npos)
      return {.body = R"({"error":{"message":"no tokenizer"}})", .status = 404};
    return {.body = R"({"tokens":[1,"x"]})"};
  });
  HttpEncoder encoder(options(server, {.profile = {.max_tokens = 3}, .llamacpp = true, .http = {.max_attempts = 2}}));
  const auto outcomes =
      test::ask(encoder, {EncodeRequest("refused", Role::query), EncodeRequest("damaged", Role::query)});
  CHECK(test::failure_of(outcomes[0]).kind == Kind::permanent);
  CHECK(test::failure_of(outcomes[1]).kind == Kind::transport);
}

}  // namespace http_encoder_test
