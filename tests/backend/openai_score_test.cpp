#include <espalier/backend/journal.hpp>
#include <espalier/backend/memory_store.hpp>
#include <espalier/backend/openai_score.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace openai_score_test {

using namespace espalier;
using namespace espalier::backend;
using namespace espalier::backend::detail;
using test::Answer;
using test::FaultServer;
using test::Received;
using Kind = BackendError::Kind;
using Ids = ScoreRequest::Ids;

namespace {

using Exchange = test::Exchange<Score>;

OpenAiOptions options(const FaultServer& server, Server sort) {
  return test::served_at<OpenAiOptions>(server.url("/v1"), {.server = sort});
}
std::string reply(const std::string& tokens, const std::string& logprobs, int prompt_tokens) {
  return R"({"choices":[{"index":0,"text":"t","logprobs":{"tokens":)" + tokens + R"(,"token_logprobs":)" + logprobs +
         R"(}}],"usage":{"prompt_tokens":)" + std::to_string(prompt_tokens) + R"(,"completion_tokens":1}})";
}
Exchange exchange(Server sort, const ScoreRequest& request, const std::string& body) {
  return test::exchange<OpenAiScore>(OpenAiOptions{.server = sort}, "/v1", std::vector{request}, body);
}
std::string refused(Server sort, const ScoreRequest& request, const std::string& body) {
  const auto failure = test::failure_of(exchange(sort, request, body).outcome());
  CHECK(failure.kind == Kind::permanent);
  return failure.message;
}

}  // namespace

TEST_CASE("a continuation's score is the sum over its own tokens") {
  const ScoreRequest request("The capital is", " Paris.");
  const std::string tokens = R"(["The"," capital"," is"," Par","is","."])";
  const Exchange vllm = exchange(Server::vllm, request, reply(tokens, "[null,-3,-1,-2,-0.5,-0.25]", 6));
  CHECK(vllm.request.path == "/v1/completions");
  CHECK(vllm.request.body ==
        R"({"model":"m","prompt":"The capital is Paris.","max_tokens":0,"temperature":0,"echo":true,"logprobs":1})");
  CHECK(vllm.outcome().value().logprob == -2.75);
  CHECK(vllm.outcome().value().tokens == 3);
  CHECK(vllm.outcome().value().prompt_tokens == 6);
  // SGLang has to generate a token, which is not the continuation's.
  const Exchange sglang =
      exchange(Server::sglang, request,
               reply(R"(["The"," capital"," is"," Par","is","."," It"])", "[null,-3,-1,-2,-0.5,-0.25,-9]", 6));
  CHECK(sglang.request.body.find(R"("max_tokens":1,)") != std::string::npos);
  CHECK(sglang.outcome().value().logprob == -2.75);
}

TEST_CASE("token ids are scored as they were sent, whatever they spell") {
  const ScoreRequest request(Ids{1, 5, 6}, Ids{7, 8});
  const std::string tokens = R"(["<s>","a","\ufffd","\ufffd","b"])";
  const Exchange got = exchange(Server::vllm, request, reply(tokens, "[null,-1,-2,-4,-8]", 5));
  CHECK(got.request.body.find(R"("prompt":[1,5,6,7,8],)") != std::string::npos);
  CHECK(got.outcome().value().logprob == -12);
  CHECK(got.outcome().value().tokens == 2);
  CHECK(refused(Server::vllm, request, reply(R"(["<s>","<s>","a","b","c","d"])", "[null,-1,-1,-1,-1,-1]", 6))
            .find("where 5 were sent") != std::string::npos);
}

TEST_CASE("a list of another length is one of other tokens, and refused") {
  const ScoreRequest request("a", " b");
  const auto why = [&](const std::string& body) { return refused(Server::vllm, request, body); };
  CHECK(why(reply(R"([" x"])", "[-1]", 2)).find("1 log-probabilities for a prompt of 2 tokens") !=
        std::string::npos);  // the generated token's
  CHECK(why(reply(R"(["a"," b"," c"])", "[null,-1,-1]", 2)).find("3 log-probabilities") != std::string::npos);
  CHECK(why(reply(R"(["a"])", "[null,-1]", 2)).find("the reply has") != std::string::npos);
  CHECK(why(reply(R"(["a"," b"])", "[null,-1]", 0)).find("of 0 tokens") != std::string::npos);
  CHECK(
      why(R"({"choices":[{"index":0,"text":"t","logprobs":{"content":[{"token":"x","logprob":-1}]}}],"usage":{"prompt_tokens":2}})")
          .find("no log-probabilities of the prompt") != std::string::npos);
  CHECK(why(R"({"choices":[{"index":0,"text":"t","logprobs":null}]})").find("no log-probabilities of the prompt") !=
        std::string::npos);
  CHECK(refused(Server::sglang, request, reply(R"(["a"," b"])", "[null,-1]", 2))
            .find("2 log-probabilities for a prompt of 2 tokens") != std::string::npos);
}

TEST_CASE("a continuation that does not begin with a token is refused, and so is one with the prompt's first token") {
  const std::string body = reply(R"(["The"," cap","ital"])", "[null,-1,-2]", 3);
  CHECK(refused(Server::vllm, ScoreRequest("The ", "capital"), body).find("not made of whole tokens") !=
        std::string::npos);
  CHECK(
      refused(Server::vllm, ScoreRequest("The cap", "ITAL"), body).find("give prompt and continuation as token ids") !=
      std::string::npos);
  CHECK(refused(Server::vllm, ScoreRequest("", "The capital"), body).find("has no log-probability") !=
        std::string::npos);
  CHECK(exchange(Server::vllm, ScoreRequest("The cap", "ital"), body).outcome().value().logprob == -2);
  CHECK(refused(Server::vllm, ScoreRequest("The cap", "ital"), reply(R"(["The"," cap","ital"])", "[null,-1,0.5]", 3))
            .find("no log-probability") != std::string::npos);
}

TEST_CASE("servers without scores of a prompt are refused by name, and nothing is sent") {
  for (const Dialect& dialect : dialects) {
    if (dialect.score_max_tokens) continue;
    const Exchange got = exchange(dialect.server, ScoreRequest("a", "b"), "{}");
    CHECK(got.request.path == "");
    const auto failure = test::failure_of(got.outcome());
    CHECK(failure.kind == Kind::permanent);
    CHECK(failure.message.find("'" + std::string(dialect.name) + "' cannot be asked for prompt scores (echo)") !=
          std::string::npos);
  }
}

TEST_CASE("damage and errors are told apart as everywhere") {
  const auto kind = [](const std::string& body) {
    return test::failure_of(exchange(Server::vllm, ScoreRequest("a", "b"), body).outcome()).kind;
  };
  CHECK(kind("<html>") == Kind::transport);
  CHECK(kind(R"({"error":{"message":"busy","code":503}})") == Kind::transport);
  CHECK(kind(R"({"error":{"message":"no","code":400}})") == Kind::permanent);
}

TEST_CASE("a score behind a journal is paid for once, and people can read it there") {
  FaultServer server(
      [](const Received&, std::size_t) { return Answer{.body = reply(R"(["a"," b"])", "[null,-1.5]", 2)}; });
  const auto store = std::make_shared<MemoryStore>();
  const ScoreRequest request("a", " b");
  for (int i = 0; i < 2; ++i) {
    auto model = std::make_unique<OpenAiScore>(options(server, Server::vllm));
    const Hash fingerprint = model->fingerprint();
    Journaled<ScoreRequest, Score> journal(std::move(model), store, fingerprint, "m");
    const Score score = test::ask(journal, {request})[0].value();
    CHECK(score.logprob == -1.5);
    CHECK(score.tokens == 1);
    CHECK(score.prompt_tokens == 2);
  }
  CHECK(server.received().size() == 1);
  CHECK(request_json(request) == R"({"prompt":"a","continuation":" b"})");
  CHECK(request_json(ScoreRequest(Ids{1, 2}, Ids{3})) == R"({"prompt_ids":[1,2],"continuation_ids":[3]})");
}

TEST_CASE("requests differ by text, by seam and by ids; nothing to score is no request") {
  CHECK(ScoreRequest("a", "bc").key() != ScoreRequest("ab", "c").key());
  CHECK(ScoreRequest(Ids{1}, Ids{2, 3}).key() != ScoreRequest(Ids{1, 2}, Ids{3}).key());
  CHECK(ScoreRequest(Ids{1}, Ids{2}).key() == ScoreRequest(Ids{1}, Ids{2}).key());
  CHECK_THROWS_WITH_AS(ScoreRequest("a", ""), doctest::Contains("'continuation'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(ScoreRequest(Ids{1}, Ids{}), doctest::Contains("'continuation'"), std::invalid_argument);
}

}  // namespace openai_score_test
