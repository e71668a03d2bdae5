#include <espalier/backend/http_encoder.hpp>
#include <espalier/backend/http_reranker.hpp>
#include <espalier/backend/scoring_model.hpp>
#include <espalier/core/batch_service.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace scoring_model_test {

using namespace espalier::test::names;
using Kind = BackendError::Kind;

namespace {

/// A prompt with slots "question" and "step" of a purpose that wants `count` numbers from low to high; 0 = words.
Prompt prompt(double low, double high, std::uint32_t count) {
  Protocol protocol;
  protocol.purposes = {{"reward", {"question", "step"}, {"score"}, {low, high, count}}};
  protocol.tags = {{"score", "<score>", "</score>"}};
  PromptBody body;
  body.messages = {{"user", "Judge. Question: who? Step: look it up. Write a number."}};
  body.spans = {{"question", 17, 21}, {"step", 28, 39}, {"documents", 0, 5}};
  body.purpose = "reward";
  body.protocol = std::make_shared<const Protocol>(protocol);
  return Prompt(std::make_shared<const PromptBody>(body), 1, 0);
}
Outcome<Completion> reply(const Prompt& asked, const Embedding& numbers, std::vector<std::string>* texts = nullptr) {
  const std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> score =
      [=](std::span<const EncodeRequest> requests) {
        for (const EncodeRequest& request : requests)
          if (texts) texts->push_back(request.text);
        return std::vector<Embedding>(requests.size(), numbers);
      };
  ScoringModel model(std::make_unique<BatchService<EncodeRequest, Embedding, decltype(score)>>(score));
  return test::ask(model, {asked})[0];
}

}  // namespace

TEST_CASE("a model of numbers sees a prompt's slots and answers in the purpose's form") {
  std::vector<std::string> texts;
  CHECK(reply(prompt(-1, 1, 1), {0}, &texts).value().text == "<score>0</score>");
  CHECK(texts == std::vector<std::string>{"who?\n\nlook it up."});
  CHECK(reply(prompt(0, 10, 1), {0}).value().text == "<score>5</score>");
  CHECK(reply(prompt(-1, 1, 1), {100}).value().text == "<score>1</score>");
  CHECK(reply(prompt(-1, 1, 2), {100, -100}).value().text == "<score>1, -1</score>");
  // Logits of "bad" and "good": half their difference is 1, tanh(1) = 0.761594...
  CHECK(reply(prompt(-1, 1, 1), {-0.5F, 1.5F}).value().text.starts_with("<score>0.76159415595576"));
}

TEST_CASE("a purpose that wants words, or another number of scores, is refused") {
  CHECK(test::failure_of(reply(prompt(0, 1, 0), {0})).message ==
        "a scoring server answers with numbers, the purpose 'reward' wants words");
  CHECK(test::failure_of(reply(Prompt("hello"), {0})).kind == BackendError::Kind::permanent);
  CHECK(test::failure_of(reply(prompt(0, 1, 1), {1, 2, 3})).message ==
        "a scoring server gave 3 numbers, the purpose 'reward' wants 1");
}

namespace {

/// Texts "a", "b", "c" are reranked.
test::Exchange<RerankRequest::Scores> reranked(const std::string& path, const std::string& reply) {
  return test::exchange<HttpReranker>(HttpRerankerOptions(), path, std::vector{RerankRequest("q", {"a", "b", "c"})},
                                      reply);
}
test::Exchange<Embedding> scored(const HttpEncoderOptions& options, const std::string& path, const std::string& reply) {
  return test::exchange<HttpEncoder>(
      options, path, std::vector{EncodeRequest("x", Role::query), EncodeRequest("y", Role::passage)}, reply);
}

}  // namespace

TEST_CASE("rerankers are asked and read in each server's shape") {
  const RerankRequest::Scores expected{0.25, -3, 9};
  for (const char* path : {"", "/rerank", "/v1/rerank", "/v2/rerank"}) {
    const auto [sent, scores] = reranked(  // vLLM, llama.cpp
        path,
        R"({"model":"m","results":[{"index":2,"relevance_score":9,"document":{"text":"c"}},{"index":0,"relevance_score":0.25},{"index":1,"relevance_score":-3}]})");
    CHECK(scores[0].value() == expected);
    CHECK(sent.path == (std::string(path).empty() ? "/rerank" : path));
    CHECK(sent.body == R"({"model":"m","query":"q","documents":["a","b","c"],"top_n":3})");
  }
  CHECK(reranked("/v1/rerank",
                 R"([{"score":9,"document":"c","index":2},{"score":0.25,"index":0},{"score":-3,"index":1}])")
            .outcome()
            .value() == expected);  // SGLang
}

TEST_CASE("anything but one score for each text is damage") {
  const std::string good = R"({"index":0,"score":1},{"index":1,"score":1},)";
  for (const std::string& body : {std::string("[]"), std::string("{}"), "[" + good + R"({"index":1,"score":1}])",
                                  "[" + good + R"({"index":3,"score":1}])", "[" + good + R"({"index":2}])",
                                  "[" + good + R"({"score":2}])", "[" + good + R"({"index":2,"score":"high"}])"}) {
    CAPTURE(body);
    CHECK(test::failure_of(reranked("/rerank", body).outcome()).kind == Kind::transport);
    CHECK(!reranked("/rerank", body).outcome().ok());
  }
  CHECK_THROWS_WITH_AS(HttpReranker({.url = "http://a/other", .model = "m"}), doctest::Contains("ends in /rerank"),
                       std::invalid_argument);
  CHECK_THROWS_AS(HttpReranker({.model = ""}), std::invalid_argument);
}

TEST_CASE("scores of texts are read as vLLM and SGLang send them") {
  auto [sent, found] =
      scored({}, "/classify", R"({"data":[{"index":1,"label":"b","probs":[0.5,-2]},{"index":0,"probs":[3,4]}]})");
  CHECK(found[0].value() == Embedding{3, 4});
  CHECK(found[1].value() == Embedding{0.5F, -2});
  CHECK(sent.body == R"({"model":"m","input":["x","y"],"text":["x","y"],"use_activation":false})");
  CHECK(scored({}, "/classify", R"([{"embedding":[1.5]},{"embedding":[-1]}])").outcomes[1].value() == Embedding{-1});
}

TEST_CASE("of numbers a token the last ones count") {
  auto [sent, found] = scored({.task = "token_classify"}, "/pooling",
                              R"({"data":[{"index":0,"data":[[0.1,0.9],[0.2,0.8]]},{"index":1,"data":[[0.5,0.5]]}]})");
  CHECK(found[0].value() == Embedding{0.2F, 0.8F});
  CHECK(found[1].value() == Embedding{0.5F, 0.5F});
  CHECK(sent.body == R"({"model":"m","input":["x","y"],"task":"token_classify","use_activation":false})");
  found = scored({.task = "embed"}, "/pooling", R"({"data":[{"index":0,"data":[1,2,3]},{"index":1,"data":[4,5,6]}]})")
              .outcomes;
  CHECK(found[1].value() == Embedding{4, 5, 6});
}

TEST_CASE("damaged scores are sent for again, and bad options are refused") {
  const auto outcomes = scored({}, "/classify", R"([{"embedding":[1]}])").outcomes;  // two texts were sent
  CHECK(test::failure_of(outcomes[0]).kind == Kind::transport);
  CHECK_THROWS_WITH_AS(HttpEncoder({.url = "http://a/classify", .model = "m", .task = "embed"}),
                       doctest::Contains("'task'"), std::invalid_argument);
  CHECK(HttpEncoder({.url = "http://a/classify", .model = "m"}).fingerprint() ==
        HttpEncoder({.url = "http://b/classify", .model = "m"}).fingerprint());
  CHECK(HttpEncoder({.url = "http://a/pooling", .model = "m"}).fingerprint() !=
        HttpEncoder({.url = "http://a/classify", .model = "m"}).fingerprint());
}

TEST_CASE("the fingerprint of a model that scores covers what is made of its texts and numbers") {
  using Options = HttpEncoderOptions;
  const Options values{.api = Options::Api::values, .model = "m"};
  const Options scorer{.url = "http://a/classify?key=1", .model = "m"};
  const auto of = [](const Options& options) { return HttpEncoder(options).fingerprint(); };
  CHECK(of(values).hex() == "910368778afd01171d84cb483cadf8a4");  // journals hold these
  CHECK(of(scorer).hex() == "38af4edf4110371bd0004e691191cef4");
  for (const Options& plain : {values, scorer}) {
    std::set<std::string> seen{of(plain).hex()};
    Options changed = plain;
    changed.revision = "2";
    seen.insert(of(changed).hex());
    for (const EncoderProfile& profile :
         {EncoderProfile{.query_prefix = "q"}, EncoderProfile{.passage_prefix = "q"}, EncoderProfile{.normalise = true},
          EncoderProfile{.max_tokens = 9}, EncoderProfile::named("e5")}) {
      changed = plain;
      changed.profile = profile;
      seen.insert(of(changed).hex());
    }
    CHECK(seen.size() == 7);
  }
}

TEST_CASE("a value server gives each text a plan and a search value") {
  const HttpEncoderOptions values{.api = HttpEncoderOptions::Api::values};
  const auto [sent, found] = scored(values, "", R"({"plan":[0.5,-1],"search":[1,0.25]})");
  CHECK(found[0].value() == Embedding{0.5F, 1});
  CHECK(found[1].value() == Embedding{-1, 0.25F});
  CHECK(sent.path == "/value");
  CHECK(sent.body == R"({"texts":["x","y"]})");
  for (const auto& [body, reason] :
       {std::pair<const char*, const char*>{R"({"plan":[0.5,0],"search":[1]})",
                                            "not one number for each text under 'search'"},
        {R"({"search":[1,1]})", "not one number for each text under 'plan'"},
        {R"({"plan":[0.5,7.5],"search":[1,1]})", "a value under 'plan' that is no number from -1 to 1"},
        {R"({"plan":[0.5,"x"],"search":[1,1]})", "a value under 'plan'"},
        {"not json", "not JSON"}}) {
    CAPTURE(body);
    CHECK(test::failure_of(scored(values, "/value", body).outcome()).message.find(reason) != std::string::npos);
  }
}

}  // namespace scoring_model_test
