#include <espalier/backend/openai.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dialects_test {

using namespace espalier::test::names;
using Kind = BackendError::Kind;

namespace {

using test::body;
using Exchange = test::Exchange<Completion>;

OpenAiOptions options(const FaultServer& server, OpenAiOptions more) {
  return test::served_at(server.url("/v1"), std::move(more));
}
/// One answer of a chat at any OpenAI-compatible server; `more` goes into the choice.
std::string chat_reply(const std::string& text, const std::string& more = "", int tokens = 2) {
  std::string content;
  JsonWriter(content).value(text);
  return R"({"choices":[{"index":0,"message":{"content":)" + content + R"(},"finish_reason":"stop")" + more +
         R"(}],"usage":{"prompt_tokens":7,"completion_tokens":)" + std::to_string(tokens) + "}}";
}
/// The answer "a" in the form of a sort of server.
std::string reply_of(Server sort) {
  return sort == Server::ollama ? R"({"message":{"content":"a"},"done":true,"done_reason":"stop"})" : chat_reply("a");
}
Exchange exchange(Server sort, const Prompt& prompt, const std::string& reply) {
  return test::exchange<OpenAi>(OpenAiOptions{.server = sort}, "/v1", std::vector{prompt}, reply);
}
/// The request of a sampled chat with a stop string.
Received chat_request(Server sort, Sampling sampling) {
  sampling.stop = {"</a>"};
  return exchange(sort, Prompt(body({{"user", "q"}}, sampling), 5, 2), reply_of(sort)).request;
}
std::string why_not(Server sort, const std::shared_ptr<const PromptBody>& asked) {
  const Exchange refused = exchange(sort, Prompt(asked, 1, 0), chat_reply("a"));
  CHECK(refused.request.path == "");  // nothing was sent
  const auto failure = test::failure_of(refused.outcome());
  if (!failure.message.empty()) CHECK(failure.kind == Kind::permanent);
  return failure.message;
}

}  // namespace

TEST_CASE("every sort of server gets its filters and penalties in full, by its own names") {
  const std::string head = R"({"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0.5,"top_p":1,)";
  const std::string rest = R"(:9,"stop":["</a>"])";
  const auto sent = [](Server sort) { return chat_request(sort, {.temperature = 0.5, .max_tokens = 9}).body; };
  CHECK(sent(Server::other) == head + R"("max_tokens")" + rest + R"(,"seed":7})");
  CHECK(sent(Server::openai) == head + R"("max_completion_tokens")" + rest + R"(,"seed":7})");
  const std::string full = R"(,"top_k":-1,"min_p":0,"repetition_penalty":1,"skip_special_tokens":false)";
  CHECK(sent(Server::vllm) == head + R"("max_tokens")" + rest + full + R"(,"return_token_ids":true,"seed":7})");
  CHECK(sent(Server::sglang) == head + R"("max_tokens")" + rest + full + R"(,"seed":7})");
  const std::string llama = R"(,"top_k":0,"min_p":0,"repeat_penalty":1,"seed":7})";
  CHECK(sent(Server::llamacpp) == head + R"("max_tokens")" + rest + llama);
  const Sampling filtered{.temperature = 1, .top_k = 5, .min_p = 0.1};
  for (const Server sort : {Server::vllm, Server::sglang, Server::llamacpp, Server::ollama})
    CHECK(test::holds(chat_request(sort, filtered).body, R"("top_k":5,"min_p":0.1)"));
}

TEST_CASE("raw prompts go to plain completions, where OpenAI's limit keeps its old name") {
  const std::string reply = R"({"choices":[{"index":0,"text":" world","finish_reason":"length"}]})";
  const Prompt raw(body({{"", "hello"}}), 0, 0);
  for (const Server sort : {Server::vllm, Server::openai, Server::llamacpp}) {
    const Exchange got = exchange(sort, raw, reply);
    CHECK(got.request.path == "/v1/completions");
    CHECK(got.request.body.starts_with(R"({"model":"m","prompt":"hello","temperature":0,"top_p":1,"max_tokens":512)"));
    CHECK(got.outcome().value().text == " world");
  }
}

TEST_CASE("samples count their own tokens where the server lists them, whoever shares their message") {
  const auto shared = body({{"user", "q"}}, {.temperature = 1});
  const std::vector<Prompt> three{Prompt(shared, 5, 0), Prompt(shared, 5, 1), Prompt(shared, 5, 2)};
  const auto choice = [](int index, const std::string& more) {
    return R"({"index":)" + std::to_string(index) + R"(,"message":{"content":"a"},"finish_reason":"stop")" + more + "}";
  };
  const auto counts = [&](const std::vector<std::string>& lists, int sum) {
    const auto got = test::exchange<OpenAi>(
        OpenAiOptions{.server = Server::vllm}, "/v1", three,
        R"({"choices":[)" + choice(1, lists[1]) + "," + choice(0, lists[0]) + "," + choice(2, lists[2]) +
            R"(],"usage":{"prompt_tokens":7,"completion_tokens":)" + std::to_string(sum) + "}}");
    std::vector<std::uint32_t> tokens;
    for (const auto& outcome : got.outcomes) tokens.push_back(outcome.value().completion_tokens);
    return tokens;
  };
  using Counts = std::vector<std::uint32_t>;
  const std::string logprobs = R"(,"logprobs":{"content":[{"logprob":-1},{"logprob":-1}]})";
  CHECK(counts({R"(,"token_ids":[4,5,6,7,8])", R"(,"token_ids":[4])", R"(,"token_ids":[9,9])"}, 8) == Counts{5, 1, 2});
  CHECK(counts({logprobs, R"(,"logprobs":{"content":[{"logprob":-1}]})",
                R"(,"logprobs":{"token_logprobs":[-1,-1,-1,-1,-1]})"},
               8) == Counts{2, 1, 5});
  CHECK(counts({"", "", ""}, 8) == Counts{3, 3, 2});  // a sum is all there is
  CHECK(counts({logprobs, logprobs, logprobs}, 8) ==
        Counts{3, 3, 2});  // lists of other tokens than those that usage counts
  CHECK(counts({R"(,"token_ids":null)", logprobs, ""}, 2) == Counts{0, 2, 0});  // one text is empty
  CHECK(counts({"", "", ""}, 0) == Counts{0, 0, 0});
  for (const int sample : {0, 1, 2}) {  // alone, a sample's tokens are the message's
    const Exchange alone =
        exchange(Server::vllm, three[std::size_t(sample)], chat_reply("a", R"(,"token_ids":[4,5,6])", 3));
    CHECK(alone.outcome().value().completion_tokens == 3);
  }
}

TEST_CASE("the tokens of a long reply are read one after the other, in chat and in plain form") {
  const std::size_t many = 300'000;
  std::string numbers, names, pairs;
  for (std::size_t i = 0; i < many; ++i) {
    const std::string comma = i > 0 ? "," : "", name = i + 1 < many ? "\"a\"" : "\"z\"";
    numbers += comma + "-1";
    names += comma + name;
    pairs += comma + R"({"token":)" + name + R"(,"logprob":-1})";
  }
  const std::string end = R"(}],"usage":{"prompt_tokens":7,"completion_tokens":)" + std::to_string(many) + "}}";
  const Sampling sampling{.max_tokens = int(many), .logprobs = true, .token_logprobs = true};
  const auto last = [&](const std::string& role, const std::string& reply) {
    const Completion got =
        exchange(Server::vllm, Prompt(body({{role, "q"}}, sampling), 0, 0), reply + end).outcome().value();
    REQUIRE(got.tokens.size() == many);
    return got.tokens.back().text;
  };
  CHECK(last("", R"({"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"token_logprobs":[)" +
                     numbers + R"(],"tokens":[)" + names + "]}") == "z");
  CHECK(last("user",
             R"({"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop","logprobs":{"content":[)" +
                 pairs + "]}") == "z");
}

TEST_CASE("Ollama is asked on its own routes, its options in their place") {
  const Received chat = chat_request(Server::ollama, {.temperature = 0.5, .max_tokens = 9});
  CHECK(chat.path == "/api/chat");
  CHECK(
      chat.body ==
      R"({"model":"m","messages":[{"role":"user","content":"q"}],"stream":false,"truncate":false,"shift":false,)"
      R"("options":{"temperature":0.5,"top_p":1,"num_predict":9,"stop":["</a>"],"top_k":0,"min_p":0,"repeat_penalty":1,"seed":7}})");
  const Exchange raw = exchange(
      Server::ollama, Prompt(body({{"", "<s>Once"}}, {.logprobs = true}), 0, 0),
      R"({"model":"m","response":" upon","done":true,"done_reason":"length","prompt_eval_count":4,"eval_count":1,)"
      R"("logprobs":[{"token":" upon","logprob":-0.5,"bytes":[32]}]})");
  CHECK(raw.request.path == "/api/generate");
  CHECK(raw.request.body ==
        R"({"model":"m","prompt":"<s>Once","raw":true,"stream":false,"truncate":false,"shift":false,"logprobs":true,)"
        R"("options":{"temperature":0,"top_p":1,"num_predict":512,"top_k":0,"min_p":0,"repeat_penalty":1}})");
  const Completion& answer = raw.outcome().value();
  CHECK(answer.text == " upon");
  CHECK(answer.finish == Completion::Finish::length);
  CHECK(answer.prompt_tokens == 4);
  CHECK(answer.completion_tokens == 1);
  CHECK(answer.logprob == -0.5);
}

TEST_CASE("OpenAI's own server is known by its address, without a question, and is told") {
  std::vector<Server> told;
  auto fleet = std::make_shared<HttpFleet>(std::vector<Replica>{{"https://api.openai.com/v1"}}, HttpOptions());
  ServerDialect asked(
      std::nullopt, fleet, "", {}, [&](Server found) { told.push_back(found); }, std::make_shared<HttpClient>());
  CHECK(told.empty());
  for (int i = 0; i < 2; ++i) CHECK(asked.known());
  CHECK(told == std::vector{Server::openai});
  CHECK(asked.accounts().requests == 0);
  CHECK(fleet->figures(0).requests == 0);
}

TEST_CASE("chunks are asked for where they tell usage at their end") {
  for (const Dialect& dialect : dialects) {
    const auto got = test::exchange<OpenAi>(OpenAiOptions{.server = dialect.server, .stream = true}, "/v1",
                                            std::vector{Prompt("q")}, reply_of(dialect.server));
    CHECK(got.outcome().value().text == "a");  // also of a server that knows no chunks
    CHECK(test::holds(got.request.body, R"("stream":true)"));
  }
}

TEST_CASE("Ollama's replies are read: thoughts, stops that it took away, errors, damage") {
  const auto outcome = [](const std::string& reply, int status = 200) {
    const Prompt prompt("q", {.stop = {"</a>"}, .logprobs = true});
    const OpenAiOptions ollama{.server = Server::ollama};
    return test::exchange<OpenAi>(ollama, "/v1", std::vector{prompt}, reply, status).outcome();
  };
  CHECK(outcome(R"({"message":{"thinking":"hm","content":"<a>yes"},"done":true,"done_reason":"stop"})").value().text ==
        "<think>\nhm\n</think>\n<a>yes</a>");
  CHECK(outcome(R"({"message":{"content":"<a>cut"},"done":true,"done_reason":"length"})").value().text == "<a>cut");
  for (const char* scores :
       {R"("eval_count":2,"logprobs":[{"logprob":-1}]})", R"("eval_count":1,"logprobs":[{"token":"ab"}]})"})
    CHECK(!outcome(R"({"message":{"content":"ab"},"done":true,"done_reason":"stop",)" + std::string(scores))
               .value()
               .logprob);
  const auto missing = test::failure_of(outcome(R"({"error":"model 'm' not found"})", 404));
  CHECK(missing.kind == Kind::permanent);
  CHECK(test::holds(missing.message, "/api/chat: HTTP 404: model 'm' not found"));
  for (const char* damaged : {R"({"error":"something broke"})", R"({"message":{"content":"half"},"done":false})",
                              R"({"message":{},"done":true})", R"({"response":5,"done":true})", "{}"})
    CHECK(test::failure_of(outcome(damaged)).kind == Kind::transport);
}

TEST_CASE("a usage that cannot be is no usage, is said once, and the reply stays; prompts in caches are counted") {
  struct Told {
    Completion completion;
    std::vector<std::string> said;
  };
  const auto told = [](Server sort, const std::string& usage, bool stream) {
    const std::string whole =
        sort == Server::ollama
            ? R"({"message":{"content":"yes"},"done":true,"done_reason":"stop",)" + usage + "}"
            : R"({"choices":[{"index":0,"message":{"content":"yes"},"delta":{"content":"yes"},"finish_reason":"stop"}],"usage":{)" +
                  usage + "}}";
    const bool events = stream && sort != Server::ollama;
    const std::string reply = events ? "data: " + whole + "\n\ndata: [DONE]\n\n" : whole + "\n";
    Told all;
    const auto watch = std::make_shared<HttpWatch>(600, [&](const std::string& what) { all.said.push_back(what); });
    const OpenAiOptions chosen{.server = sort, .stream = stream, .http = {.max_attempts = 2, .watch = watch}};
    FaultServer server([&](const Received& request, std::size_t) {
      return Answer{.body = request.path == "/v1/models" ? "{}" : reply};
    });
    OpenAi model(test::served_at(server.url("/v1"), chosen));
    all.completion = test::ask(model, std::vector{Prompt("q"), Prompt("r")})[1].value();
    CHECK(all.completion.text == "yes");
    return all;
  };
  std::vector<std::pair<std::string, std::optional<std::uint32_t>>> cached{
      {"", std::nullopt},  // what a reply says of its prompt in a cache, and what of it is believed
      {R"(,"prompt_tokens_details":{"cached_tokens":50})", 50},  // OpenAI, vLLM, SGLang, llama.cpp
      {R"(,"prompt_tokens_details":{"cached_tokens":0}},"timings":{"cache_n":3)", 0},
      {R"(,"prompt_tokens_details":null},"timings":{"cache_n":3)", 3},  // llama.cpp
      {R"(},"meta_info":{"cached_tokens":4)", 4},                       // SGLang
      {R"(,"prompt_cache_hit_tokens":5)", 5},                           // DeepSeek
      {R"(,"cached_tokens":6)", 6}};                                    // Moonshot
  for (const std::string value : {"-1", "2.5", "\"7\"", "null", "true", "[7]", "{}", "51", "51000000000000000"})
    cached.emplace_back(R"(,"prompt_tokens_details":{"cached_tokens":)" + value + "}", std::nullopt);
  for (const Server sort :
       {Server::other, Server::vllm, Server::sglang, Server::openai, Server::llamacpp, Server::ollama})
    for (const bool stream : {false, true}) {
      CAPTURE(static_cast<int>(sort));
      const bool ollama = sort == Server::ollama;
      const auto usage = [&](const std::string& prompt, const std::string& completion) {
        return (ollama ? R"("prompt_eval_count":)" : R"("prompt_tokens":)") + prompt +
               (ollama ? R"(,"eval_count":)" : R"(,"completion_tokens":)") + completion;
      };
      const Told most = told(sort, usage("9223372036854775807", "9223372036854775807"), stream);
      CHECK(most.completion.prompt_tokens == 0);
      CHECK(most.completion.completion_tokens == 0);
      REQUIRE(most.said.size() == 1);
      CHECK(test::holds(most.said[0], "9223372036854775807 completion tokens"));
      const Told more = told(sort, usage("50", "16777217"), stream);
      CHECK(more.completion.prompt_tokens == 50);
      CHECK(more.completion.completion_tokens == 0);
      CHECK(more.said.size() == 1);
      const Told fits = told(sort, usage("120", "16777216"), stream);
      CHECK(fits.completion.prompt_tokens == 120);
      CHECK(fits.completion.completion_tokens == 16777216);
      CHECK(fits.said.empty());
      for (const auto& [beside, reused] : cached) {
        if (ollama && test::holds(beside, "},")) continue;  // it has no usage to stand beside
        const Told one = told(sort, usage("50", "2") + beside, stream);
        CHECK_MESSAGE(one.completion.reused_tokens == (ollama ? std::nullopt : reused), beside);
        CHECK(one.completion.prompt_tokens == 50);
        CHECK(one.said.size() == (!ollama && test::holds(beside, "51") ? 1 : 0));
      }
    }
}

namespace {

/// A prompt whose reply is "<a>" text "</a>", under its grammar.
std::shared_ptr<const PromptBody> constrained(std::string role = "user") {
  PromptBody body;
  body.messages = {{std::move(role), "q"}};
  body.protocol = std::make_shared<const Protocol>(Protocol{"m", {{"p", {}, {"answer"}}}, {{"answer", "<a>", "</a>"}}});
  body.purpose = "p";
  body.sampling.stop = {"</a>"};
  body.sampling.grammar = Grammar(*body.protocol, body.protocol->purposes[0], 512).gbnf();
  return std::make_shared<const PromptBody>(std::move(body));
}

}  // namespace

TEST_CASE("a grammar goes into the field of each sort of server, and is refused by name where there is none") {
  const auto asked = constrained();
  std::string gbnf;
  JsonWriter(gbnf).value(asked->sampling.grammar);
  const auto sent = [&](Server sort, const std::string& reply = chat_reply("<a>b</a>")) {
    const Exchange got = exchange(sort, Prompt(asked, 0, 0), reply);
    CHECK(got.outcome().value().text == "<a>b</a>");
    return got.request.body;
  };
  CHECK(test::holds(sent(Server::vllm), R"("structured_outputs":{"grammar":)" + gbnf + "}"));
  CHECK(test::holds(sent(Server::sglang), R"("ebnf":)" + gbnf));
  CHECK(test::holds(sent(Server::llamacpp), R"(,"grammar":)" + gbnf));
  for (const Server sort : {Server::vllm, Server::sglang, Server::llamacpp})
    CHECK(test::holds(sent(sort), R"("stop":["</a>"])"));
  const std::string schema = Grammar(*asked->protocol, asked->protocol->purposes[0], 512).json_schema();
  const std::string openai = sent(Server::openai, chat_reply(R"({"reply":"<a>b</a>"})"));
  CHECK(test::holds(openai,
                    R"("response_format":{"type":"json_schema","json_schema":{"name":"reply","strict":true,"schema":)" +
                        schema + "}}"));
  const std::string ollama =
      sent(Server::ollama, R"({"message":{"content":"{\"reply\": \"<a>b</a>\"}"},"done":true,"done_reason":"stop"})");
  CHECK(test::holds(ollama, R"("format":)" + schema));
  for (const std::string& body : {openai, ollama}) CHECK(!test::holds(body, "\"stop\""));  // it would cut the object
  const std::string why = why_not(Server::other, asked);
  CHECK(test::holds(why, "'other' cannot be asked for a grammar"));
  CHECK(test::holds(why, "'server'"));
  CHECK(test::holds(why_not(Server::openai, constrained("")),
                    "'openai' cannot be asked for a grammar: it takes one in chats"));
  PromptBody own = *asked;
  own.sampling.grammar = "root ::= \"yes\"";
  CHECK(test::holds(why_not(Server::ollama, std::make_shared<const PromptBody>(own)),
                    "'ollama' cannot be asked for a grammar: it takes schemas"));
}

TEST_CASE("the object around a reply is taken away, and what is no such object stays as it is") {
  const auto text = [](const std::string& content, Server sort = Server::openai) {
    std::string json;
    JsonWriter(json).value(content);
    const std::string reply = sort == Server::openai
                                  ? chat_reply(content)
                                  : R"({"message":{"content":)" + json + R"(},"done":true,"done_reason":"length"})";
    return exchange(sort, Prompt(constrained(), 0, 0), reply).outcome().value().text;
  };
  for (const Server sort : {Server::openai, Server::ollama}) {
    CHECK(text(R"({"reply":"so\n<a>\"b\"</a>"})", sort) == "so\n<a>\"b\"</a>");
    for (const char* other : {"hello", "{\"reply\":\"cut", "{\"reply\":5}", "[1]", "{}", ""})
      CHECK(text(other, sort) == other);
  }
}

TEST_CASE("extra_body reaches Ollama's options by their name, and the rest stays outside") {
  const OpenAiOptions chosen{.server = Server::ollama,
                             .extra_body = R"({"think":false,"options":{"num_ctx":8192,"min_p":null}})"};
  const Received sent =
      test::exchange<OpenAi>(chosen, "/v1", std::vector{Prompt("q")}, reply_of(Server::ollama)).request;
  CHECK(
      sent.body ==
      R"({"model":"m","messages":[{"role":"user","content":"q"}],"stream":false,"truncate":false,"shift":false,"think":false,)"
      R"("options":{"temperature":0,"top_p":1,"num_predict":512,"top_k":0,"repeat_penalty":1,"num_ctx":8192}})");
}

TEST_CASE("samples of one prompt share a message where choice i is drawn under seed + i, and go alone elsewhere") {
  for (const Dialect& dialect : dialects) {
    CAPTURE(dialect.name);
    FaultServer server([&](const Received& request, std::size_t) {
      if (dialect.server == Server::ollama) return Answer{.body = reply_of(Server::ollama)};
      const bool both = request.body.find(R"("n":2)") != std::string::npos;
      return Answer{.body = std::string(R"({"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"})") +
                            (both ? R"(,{"index":1,"message":{"content":"b"},"finish_reason":"stop"})" : "") + "]}"};
    });
    OpenAi model(options(server, {.server = dialect.server}));
    const auto asked = body({{"user", "q"}}, {.temperature = 1});
    test::ask(model, {Prompt(asked, 3, 0), Prompt(asked, 3, 1)});
    const bool native = dialect.server == Server::vllm || dialect.server == Server::openai;
    std::vector<std::string> tails;
    for (const auto& request : server.received())
      if (request.path != "/props") tails.push_back(request.body.substr(request.body.find("\"seed\"")));
    REQUIRE(tails.size() == (native ? 1 : 2));
    std::sort(tails.begin(), tails.end());
    CHECK(tails[0].starts_with(R"("seed":3)"));
    if (!native) CHECK(tails[1].starts_with(R"("seed":4)"));
  }
}

TEST_CASE("llama.cpp gets as many samples at once as it has slots, and its chunks count the tokens of each") {
  const auto chunk = [](int index, const std::string& text, const std::string& end) {
    return R"(data: {"choices":[{"index":)" + std::to_string(index) + R"(,"delta":{"content":")" + text +
           R"("},"finish_reason":)" + (end.empty() ? "null" : "\"" + end + "\"") + "}]}\n\n";
  };
  const auto usage = [](int tokens) {
    return R"(data: {"choices":[],"timings":{"cache_n":4},"usage":{"prompt_tokens":7,"completion_tokens":)" +
           std::to_string(tokens) + "}}\n\n";
  };
  FaultServer server([&](const Received& request, std::size_t) {
    if (request.path == "/props") return Answer{.body = R"({"total_slots":2})"};
    if (!test::holds(request.body, R"("n":2)")) return Answer{.body = chat_reply("c", "", 3)};
    return Answer{.body = chunk(1, "b", "") + chunk(0, "a", "stop") + usage(5) + chunk(1, "b", "length") + usage(9) +
                          "data: [DONE]\n\n"};
  });
  OpenAi model(options(server, {.server = Server::llamacpp}));
  const auto asked = body({{"user", "q"}}, {.temperature = 1});
  const auto replies = test::ask(model, {Prompt(asked, 3, 0), Prompt(asked, 3, 1), Prompt(asked, 3, 2)});
  const std::vector<std::pair<std::string, std::uint32_t>> right{{"a", 5}, {"bb", 9}, {"c", 3}};
  for (std::size_t i = 0; i < right.size(); ++i) {
    CHECK(replies[i].value().text == right[i].first);
    CHECK(replies[i].value().completion_tokens == right[i].second);
    CHECK(replies[i].value().prompt_tokens == 7);
  }
  CHECK(replies[1].value().finish == Completion::Finish::length);
  CHECK(replies[0].value().reused_tokens == 4);  // and 3 are read, once
  CHECK(replies[1].value().reused_tokens == 7);
  CHECK_FALSE(replies[2].value().reused_tokens.has_value());
  REQUIRE(server.received().size() == 3);
  for (const auto& request : server.received()) {
    const bool both =
        test::holds(request.body, R"("n":2,"stream":true,"stream_options":{"include_usage":true},"seed":3})");
    CHECK((request.path == "/props" || both || test::holds(request.body, R"("seed":5})")));
  }
}

TEST_CASE("log-probabilities are asked for where their meaning is known, and refused by name elsewhere") {
  const auto chat = [](double temperature) {
    return body({{"user", "q"}}, {.temperature = temperature, .logprobs = true});
  };
  for (const Server sort : {Server::vllm, Server::llamacpp}) {
    const Exchange got = exchange(sort, Prompt(chat(0.7), 0, 0), chat_reply("a"));
    CHECK(test::holds(got.request.body, R"("logprobs":true,"top_logprobs":1)"));
  }
  CHECK(test::holds(
      exchange(Server::vllm, Prompt(body({{"", "q"}}, {.logprobs = true}), 0, 0), chat_reply("a")).request.body,
      R"("logprobs":1})"));
  for (const Server sort : {Server::sglang, Server::openai}) {
    for (const double sound : {0.0, 1.0})
      CHECK(exchange(sort, Prompt(chat(sound), 0, 0), chat_reply("a")).outcome().ok());
    const std::string why = why_not(sort, chat(0.7));
    CHECK(test::holds(why, "'" + std::string(dialect_of(sort).name) + "' cannot be asked for logprobs"));
    CHECK(test::holds(why, "after temperature"));
  }
  const std::string why = why_not(Server::other, chat(0));
  CHECK(test::holds(why, "'other' cannot be asked for logprobs"));
  CHECK(test::holds(why, "'server'"));
}

TEST_CASE("log-probabilities are summed in both shapes; fewer than the tokens, or a missing one, leave none") {
  const auto logprob_of = [](const std::string& logprobs, int tokens = 2) {
    const auto asked = body({{"user", "q"}}, {.logprobs = true});
    return exchange(Server::vllm, Prompt(asked, 0, 0), chat_reply("a", ",\"logprobs\":" + logprobs, tokens))
        .outcome()
        .value()
        .logprob;
  };
  const std::string two = R"({"content":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-1.25}]})";
  CHECK(logprob_of(two) == -1.75);
  CHECK(logprob_of(two, 0) == -1.75);  // tokens were not reported
  CHECK(logprob_of(R"({"token_logprobs":[-2,-0.25]})") == -2.25);
  CHECK(!logprob_of(two, 3));
  CHECK(!logprob_of(R"({"token_logprobs":[null,-0.25]})"));
  CHECK(!logprob_of("null"));
}

TEST_CASE("the log-probability of each token is kept where it is asked for and its text is given") {
  const auto tokens_of = [](const std::string& logprobs, bool each) {
    const auto asked = body({{"user", "q"}}, {.logprobs = true, .token_logprobs = each});
    return exchange(Server::vllm, Prompt(asked, 0, 0), chat_reply("ab", ",\"logprobs\":" + logprobs, 2))
        .outcome()
        .value()
        .tokens;
  };
  using Tokens = std::vector<Completion::TokenLogprob>;
  const std::string chat = R"({"content":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-1.25}]})";
  CHECK(tokens_of(chat, true) == Tokens{{"a", -0.5}, {"b", -1.25}});
  CHECK(tokens_of(chat, false).empty());
  CHECK(tokens_of(R"({"tokens":["a","b"],"token_logprobs":[-2,-0.25]})", true) == Tokens{{"a", -2}, {"b", -0.25}});
  CHECK(tokens_of(R"({"token_logprobs":[-2,-0.25]})", true).empty());
  CHECK(Prompt(body({{"user", "q"}}, {.logprobs = true, .token_logprobs = true}), 0, 0).key() !=
        Prompt(body({{"user", "q"}}, {.logprobs = true}), 0, 0).key());
}

TEST_CASE("the tokens that were sampled are kept where a server tells them all") {
  using Sampled = Completion::Sampled;
  const auto asked = body({{"user", "q"}}, {.temperature = 1, .stop = {"##"}, .keep_tokens = true});
  CHECK(Prompt(asked, 1, 0).key() == Prompt(body({{"user", "q"}}, {.temperature = 1, .stop = {"##"}}), 1, 0).key());
  const auto sends = [&](Server sort, bool stream, const std::string& what) {
    const OpenAiOptions options{.server = sort, .stream = stream};
    return test::holds(test::exchange<OpenAi>(options, "/v1", std::vector{Prompt(asked, 1, 0)}, "").request.body, what);
  };
  const std::string scores = R"("logprobs":true,"top_logprobs":1)", ids = R"(,"stop_reason":"##","token_ids":)";
  for (const bool stream : {false, true}) CHECK(sends(Server::vllm, stream, R"("return_token_ids":true,)" + scores));
  CHECK(sends(Server::sglang, false, R"("return_token_ids":true,"return_meta_info":true,)" + scores));
  CHECK((sends(Server::llamacpp, false, scores) && !sends(Server::llamacpp, false, "stream")));  // chunks lack ids
  for (const Server sort : {Server::llamacpp, Server::sglang, Server::openai}) CHECK(!sends(sort, true, "logprobs"));
  const auto kept = [&](Server sort, const std::string& more, int tokens = 2) {
    const Completion got = exchange(sort, Prompt(asked, 1, 0), chat_reply("ab", more, tokens)).outcome().value();
    CHECK(got.text == "ab##");
    return got.sampled;
  };
  const auto list = [](const std::string& first, const std::string& second) {
    return R"(,"logprobs":{"content":[{"token":"a",)" + first + R"(},{"token":"b",)" + second + "}]}";
  };
  const std::string two = list(R"("logprob":-0.5)", R"("logprob":0)");
  CHECK(kept(Server::vllm, ids + "[5,2147483647]" + two) == Sampled{{5, 2147483647}, {-0.5, 0}});
  CHECK(kept(Server::vllm, ids + "[5]") == Sampled{{5}, {}});
  CHECK(kept(Server::sglang, R"(,"meta_info":{"output_token_logprobs":[[-1,5,null],[-2,6,null]]})") ==
        Sampled{{5, 6}, {-1, -2}});
  const std::string llama = list(R"("id":7,"logprob":-0.5)", R"("id":8,"logprob":-1)");
  for (const int tokens : {2, 3})  // the third is that of the stop string
    CHECK(kept(Server::llamacpp, llama, tokens) == Sampled{{7, 8}, {-0.5, -1}});
  for (const char* wrong :
       {"[5,-6]", "[5,2147483648]", "[5,18446744073709551615]", "[5,1.5]", R"([5,"6"])", "[5,null]", "[5]", "[5,6,7]"})
    CHECK(kept(Server::vllm, ids + wrong + two) == Sampled());
  for (const char* wrong : {R"("logprob":0.5)", R"("logprob":null)", R"("logprob":"NaN")", R"("other":1)"})
    CHECK(kept(Server::vllm, ids + "[5,6]" + list(wrong, R"("logprob":-1)")) == Sampled());
  for (const char* none : {"", R"(,"token_ids":null)", R"(,"token_ids":{"a":1})", R"(,"token_ids":[])"})
    CHECK(kept(Server::vllm, none + two) == Sampled());
}

TEST_CASE("in a message of several choices one short list leaves them all without") {
  const auto logprobs_of = [](int tokens) {
    const auto asked = body({{"user", "q"}}, {.temperature = 1, .logprobs = true});
    const auto got = test::exchange<OpenAi>(
        OpenAiOptions{.server = Server::vllm}, "/v1", std::vector{Prompt(asked, 3, 0), Prompt(asked, 3, 1)},
        R"({"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop","logprobs":{"token_logprobs":[-1,-2]}},)"
        R"({"index":1,"message":{"content":"a"},"finish_reason":"stop","logprobs":{"token_logprobs":[-4]}}],"usage":{"completion_tokens":)" +
            std::to_string(tokens) + "}}");
    std::vector<std::optional<double>> found;
    for (const auto& outcome : got.outcomes) found.push_back(outcome.value().logprob);
    return found;
  };
  CHECK(logprobs_of(3) == std::vector<std::optional<double>>{-3.0, -4.0});
  CHECK(logprobs_of(4) == std::vector<std::optional<double>>{std::nullopt, std::nullopt});
}

TEST_CASE("a last message of the assistant's is continued, and is not part of the answer") {
  const auto begun = body({{"user", "capital?"}, {"assistant", "<answer>Pa"}}, {.stop = {"</answer>"}});
  const auto got = [&](Server sort, const std::string& text) {
    return exchange(sort, Prompt(begun, 0, 0), chat_reply(text));
  };
  for (const Server sort : {Server::vllm, Server::sglang, Server::llamacpp}) {
    const Exchange answer = got(sort, "ris");
    CHECK(test::holds(answer.request.body, R"("continue_final_message":true,"add_generation_prompt":false)"));
    CHECK(answer.outcome().value().text == "ris</answer>");
  }
  CHECK(got(Server::llamacpp, "<answer>Paris").outcome().value().text == "ris</answer>");
  CHECK(got(Server::vllm, "<answer>Paris").outcome().value().text == "<answer>Paris</answer>");  // that is what it said
  for (const Server sort : {Server::other, Server::openai, Server::ollama})
    CHECK(test::holds(why_not(sort, begun),
                      "'" + std::string(dialect_of(sort).name) + "' cannot be asked for a continued message"));
}

TEST_CASE("token ids are sent as they are, where a server takes them, and are part of the key") {
  PromptBody of_ids;
  of_ids.messages = {{"", ""}};
  const Hash without = Prompt(std::make_shared<const PromptBody>(of_ids), 0, 0).key();
  of_ids.ids = {1, 15043, 29871};
  const auto shared = std::make_shared<const PromptBody>(of_ids);
  CHECK(Prompt(shared, 0, 0).key() != without);
  of_ids.ids.back() = 3;
  CHECK(Prompt(std::make_shared<const PromptBody>(of_ids), 0, 0).key() != Prompt(shared, 0, 0).key());
  const std::string reply = R"({"choices":[{"index":0,"text":"a","finish_reason":"stop"}]})";
  for (const Server sort : {Server::vllm, Server::sglang, Server::llamacpp, Server::openai}) {
    const Received request = exchange(sort, Prompt(shared, 0, 0), reply).request;
    CHECK(request.path == "/v1/completions");
    CHECK(test::holds(request.body, R"("prompt":[1,15043,29871],)"));
  }
  for (const Server sort : {Server::other, Server::ollama})
    CHECK(test::holds(why_not(sort, shared), "a prompt of token ids"));
}

TEST_CASE("what a server does not take is refused by name before anything is sent") {
  for (const Server sort : {Server::other, Server::openai}) {
    CHECK(
        test::holds(why_not(sort, body({{"user", "q"}}, {.temperature = 1, .top_k = 5})), "cannot be asked for top_k"));
    CHECK(test::holds(why_not(sort, body({{"user", "q"}}, {.temperature = 1, .min_p = 0.1})),
                      "cannot be asked for min_p"));
  }
  const Sampling five{.stop = {"a", "b", "c", "d", "e"}};
  CHECK(test::holds(why_not(Server::openai, body({{"user", "q"}}, five)), "at most 4 stop strings"));
  CHECK(exchange(Server::vllm, Prompt(body({{"user", "q"}}, five), 0, 0), chat_reply("a")).outcome().ok());
}

TEST_CASE("one refused request does not hold up its neighbours") {
  FaultServer server(Answer{.body = chat_reply("a")});
  OpenAi model(options(server, {.server = Server::openai, .http = {.max_in_flight = 1}}));
  const auto outcomes = test::ask(model, {Prompt("q"), Prompt("q", {.top_k = 5}), Prompt("r")});
  CHECK(outcomes[0].ok());
  CHECK(!outcomes[1].ok());
  CHECK(outcomes[2].ok());
  CHECK(server.received().size() == 2);
}

TEST_CASE("a server is known by its name alone") {
  for (const Dialect& dialect : dialects) {
    CHECK(server_named(dialect.name) == dialect.server);
    CHECK(dialect_of(dialect.server).name == dialect.name);
  }
  CHECK(server_named("auto") == std::nullopt);
  CHECK_THROWS_WITH_AS(server_named("vLLM"),
                       "option 'server' is vLLM, allowed: auto, other, vllm, sglang, llamacpp, ollama, openai",
                       std::invalid_argument);
}

namespace {

/// What a server is taken for that answers GET with `route` and POST with a chat.
struct Found {
  std::vector<Server> heard;
  std::vector<std::string> asked;
};
Found found_by(const FaultServer::Script& route) {
  FaultServer server([&](const Received& request, std::size_t number) {
    if (request.body.empty()) return route(request, number);
    return Answer{.body = reply_of(request.path.starts_with("/api") ? Server::ollama : Server::other)};
  });
  Found found;
  const auto hear = [&](Server sort) { found.heard.push_back(sort); };
  OpenAi model(options(server, {.server = std::nullopt, .on_server = hear}));
  CHECK(test::ask(model, {Prompt("q"), Prompt("r")})[1].ok());
  CHECK(test::ask(model, {Prompt("s")})[0].ok());
  for (const auto& request : server.received()) found.asked.push_back(request.path);
  return found;
}
Answer owned_by(const std::string& owner) {
  return {.body = R"({"object":"list","data":[{"id":"m","owned_by":")" + owner + "\"}]}"};
}

}  // namespace

TEST_CASE("a server is asked once who owns its models, before the first request") {
  for (const Dialect& dialect : dialects) {
    if (dialect.owner.empty()) continue;
    const Found found = found_by([&](const Received&, std::size_t) { return owned_by(std::string(dialect.owner)); });
    CHECK(found.heard == std::vector<Server>{dialect.server});
    REQUIRE(found.asked.size() == (dialect.server == Server::llamacpp ? 5 : 4));  // and its slots
    CHECK(found.asked[0] == "/v1/models");
    CHECK(std::count(found.asked.begin(), found.asked.end(), "/v1/models") == 1);
  }
}

TEST_CASE("where the owner says nothing, routes that one sort alone has give a server away") {
  const auto with = [](const std::string& path, const std::string& reply) {
    return found_by([=](const Received& request, std::size_t) {
             if (request.path == "/v1/models") return owned_by("somebody");
             if (request.path == path) return Answer{.body = reply};
             return Answer{.body = "<html>not here</html>", .status = request.path == "/props" ? 500 : 404};
           })
        .heard;
  };
  CHECK(with("/props", R"({"default_generation_settings":{},"total_slots":4})") == std::vector{Server::llamacpp});
  CHECK(with("/get_model_info", R"({"model_path":"x"})") == std::vector{Server::sglang});
  CHECK(with("/api/version", R"({"version":"0.13.0"})") == std::vector{Server::ollama});
  CHECK(with("/version", R"({"version":"0.19.0"})") == std::vector{Server::vllm});
  CHECK(with("/version", "<html>hello</html>") == std::vector{Server::other});
}

TEST_CASE("a server that says nothing of itself, or nothing without a key, is another one") {
  for (const int status : {404, 401, 501})
    CHECK(found_by([&](const Received&, std::size_t) { return Answer{.status = status}; }).heard ==
          std::vector{Server::other});
}

TEST_CASE("a server that is not ready yet is asked again, and so is one whose answer came damaged") {
  const Found found = found_by([](const Received&, std::size_t number) {
    if (number == 0)
      return Answer{.body = R"({"error":{"message":"Loading model","type":"unavailable_error","code":503}})",
                    .status = 503};
    if (number == 1) return Answer{.fault = Answer::Fault::close};
    if (number == 2) return Answer{.body = R"({"object":"li)"};
    return owned_by("vllm");
  });
  CHECK(found.heard == std::vector{Server::vllm});
}

TEST_CASE("where a server cannot be reached its requests fail, and those that come later try again") {
  bool up = false;
  FaultServer server([&](const Received& request, std::size_t) {
    if (!up) return Answer{.status = 503};
    return request.body.empty() ? owned_by("vllm") : Answer{.body = chat_reply("a")};
  });
  OpenAi model(options(server, {.server = std::nullopt, .http = {.max_attempts = 2}}));
  const auto outcomes = test::ask(model, {Prompt("q"), Prompt("r")});
  for (const auto& outcome : outcomes) {
    const auto failure = test::failure_of(outcome);
    CHECK(failure.kind == Kind::transport);
    CHECK(failure.message.find("GET http://127.0.0.1:") == 0);
    CHECK(test::holds(failure.message, "/v1/models: HTTP 503 (given up after attempt 2)"));
  }
  CHECK(server.received().size() == 2);
  up = true;
  CHECK(test::ask(model, {Prompt("q")})[0].ok());
}

TEST_CASE("of several servers one that is up is asked") {
  FaultServer server([](const Received& request, std::size_t) {
    return request.body.empty() ? owned_by("sglang") : Answer{.body = chat_reply("a")};
  });
  std::vector<Server> heard;
  const auto hear = [&](Server sort) { heard.push_back(sort); };
  OpenAi model(
      test::served_at<OpenAiOptions>(FaultServer::refusing_url() + "/v1",
                                     {.endpoints = {server.url("/v1")}, .server = std::nullopt, .on_server = hear}));
  CHECK(test::ask(model, {Prompt("q")})[0].ok());
  CHECK(heard == std::vector{Server::sglang});
}

TEST_CASE("a service may go while its server is being asked") {
  FaultServer server(Answer{.fault = Answer::Fault::stall});
  const auto client = std::make_shared<HttpClient>();
  {
    OpenAi model(options(server, {.server = std::nullopt}), client);
    model.submit(1, Prompt("q"));
    CHECK(model.poll(std::chrono::milliseconds(0)).empty());
    CHECK(client->in_flight() == 1);
  }
  CHECK(client->in_flight() == 0);
}

TEST_CASE("log-probabilities are summed up to the stop string, whether the server lists its tokens or not") {
  const auto asked = body({{"user", "q"}}, {.stop = {"</a>"}, .logprobs = true, .token_logprobs = true});
  const auto read = [&](Server sort, const std::string& text, const std::string& tokens, int count) {
    const std::string more = R"(,"logprobs":{"content":[)" + tokens + "]}";
    return exchange(sort, Prompt(asked, 0, 0), chat_reply(text, more, count)).outcome().value();
  };
  const std::string before = R"({"token":"<a>","logprob":-0.5},{"token":"yes","logprob":-1})";
  const std::string after = R"(,{"token":"</","logprob":-2},{"token":"a>","logprob":-4})";
  // vLLM lists the stop's tokens, llama.cpp leaves them out of the list but not out of the count
  for (const auto& [sort, tokens] : {std::pair(Server::vllm, before + after), std::pair(Server::llamacpp, before)}) {
    const Completion one = read(sort, "<a>yes", tokens, 4);
    CHECK(one.text == "<a>yes</a>");
    CHECK(one.logprob == -1.5);
    CHECK(one.tokens == std::vector<Completion::TokenLogprob>{{"<a>", -0.5}, {"yes", -1}});
  }
  // a token on both sides of the stop's beginning belongs to the text
  CHECK(read(Server::vllm, "<a>yes", R"({"token":"<a>","logprob":-0.5},{"token":"yes</","logprob":-3})", 3).logprob ==
        -3.5);
  // tokens that do not spell the text, or too few of them: the count decides
  CHECK(!read(Server::llamacpp, "<a>yes", R"({"token":"<a>","logprob":-0.5})", 4).logprob);
  CHECK(!read(Server::llamacpp, "<a>yes", R"({"token":"<b>","logprob":-0.5},{"token":"yes","logprob":-1})", 4).logprob);
  CHECK(read(Server::llamacpp, "<a>yes", R"({"token":"?","logprob":-0.5},{"token":"yes","logprob":-1})", 2).logprob ==
        -1.5);
  const std::string ollama = R"({"message":{"content":"<a>yes"},"done":true,"done_reason":"stop","eval_count":4,)";
  CHECK(exchange(Server::ollama, Prompt(asked, 0, 0), ollama + R"("logprobs":[)" + before + "]}")
            .outcome()
            .value()
            .logprob == -1.5);
}

TEST_CASE("thinking is asked for by each server's own field, or refused by name") {
  const auto request = [](Server sort, const std::string& thinking) {
    return test::exchange<OpenAi>(OpenAiOptions{.server = sort, .thinking = thinking}, "/v1",
                                  std::vector{Prompt(body({{"user", "q"}}, {.max_tokens = 50}), 0, 0)}, reply_of(sort));
  };
  const auto sends = [&](Server sort, const std::string& thinking, const std::string& field) {
    return request(sort, thinking).request.body.find(field) != std::string::npos;
  };
  const std::string off = R"("chat_template_kwargs":{"enable_thinking":false})";
  const std::string on = R"("chat_template_kwargs":{"enable_thinking":true})";
  for (const Server sort : {Server::vllm, Server::sglang, Server::llamacpp}) {
    CHECK(sends(sort, "off", off));
    CHECK(sends(sort, "on", on));
    CHECK(sends(sort, "200", R"("max_tokens":250)"));  // the thought's tokens come on top of the reply's
    CHECK_FALSE(sends(sort, "", "thinking"));
  }
  CHECK(sends(Server::vllm, "200", on + R"(,"thinking_token_budget":200)"));
  CHECK(sends(Server::sglang, "200", R"("chat_template_kwargs":{"enable_thinking":true,"thinking_budget":200})"));
  CHECK(sends(Server::llamacpp, "200", on + R"(,"thinking_budget_tokens":200)"));
  CHECK(sends(Server::ollama, "off", R"("think":false)"));
  CHECK(sends(Server::ollama, "on", R"("think":true)"));
  CHECK(sends(Server::openai, "off", R"("reasoning_effort":"none")"));
  CHECK(sends(Server::openai, "on", R"("reasoning_effort":"medium")"));
  const auto why = [&](Server sort, const std::string& thinking) {
    const auto refused = request(sort, thinking);
    CHECK(refused.request.path == "");
    return test::failure_of(refused.outcome()).message;
  };
  CHECK(test::holds(why(Server::ollama, "200"), "'ollama' cannot be asked for a number of thinking tokens"));
  CHECK(test::holds(why(Server::openai, "200"), "a number of thinking tokens"));
  CHECK(test::holds(why(Server::other, "on"), "'extra_body'"));
  for (const char* bad : {"yes", "0", "-1", "12a", " 5", "99999999999999"})
    CHECK_THROWS_AS(OpenAi(OpenAiOptions{.model = "m", .thinking = bad}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(OpenAi(OpenAiOptions{.model = "m", .chat = false, .thinking = "on"}),
                       "option 'thinking' is on, allowed: nothing where the server gets plain texts",
                       std::invalid_argument);
  CHECK(OpenAi(OpenAiOptions{.model = "m", .thinking = "on"}).fingerprint() !=
        OpenAi(OpenAiOptions{.model = "m"}).fingerprint());
}

TEST_CASE("the tokens of a thought are counted apart where the server says them") {
  const auto thought = [](const std::string& usage) {
    return exchange(Server::vllm, Prompt(body({{"user", "q"}}), 0, 0),
                    R"({"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":9)" + usage + "}}")
        .outcome()
        .value()
        .thinking_tokens;
  };
  CHECK(thought(R"(,"completion_tokens_details":{"reasoning_tokens":7})") == 7);
  CHECK(thought(R"(,"reasoning_tokens":7)") == 7);                                 // as SGLang has it
  CHECK(thought(R"(,"completion_tokens_details":{"reasoning_tokens":70})") == 9);  // no more than there are
  CHECK(thought(R"(,"completion_tokens_details":null)") == 0);
  CHECK(thought("") == 0);
}

namespace {

/// A prompt of a purpose that returns a search or an answer, asked for as calls of tools.
Prompt calling(std::vector<std::string> returns = {"search", "answer"}) {
  PromptBody asked;
  asked.messages = {{"user", "q"}};
  asked.purpose = "step";
  asked.sampling.tools = true;
  asked.protocol = std::make_shared<const Protocol>(
      Protocol{"m",
               {{"step", {}, std::move(returns)}},
               {{"search", "<search>", "</search>"}, {"answer", "Finish(", ")"}, {"thought", "", ""}}});
  return Prompt(std::make_shared<const PromptBody>(std::move(asked)), 0, 0);
}
std::string calls_reply(const std::string& calls, const std::string& content = "null") {
  return R"({"choices":[{"index":0,"message":{"content":)" + content + R"(,"tool_calls":[)" + calls +
         R"(]},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":9}})";
}
std::string call(const std::string& name, const std::string& arguments) {
  return R"({"id":"1","type":"function","function":{"name":")" + name + R"(","arguments":)" + arguments + "}}";
}

}  // namespace

TEST_CASE("tags are asked for as tools, one function each, where the server has tools") {
  const std::string one =
      R"({"type":"function","function":{"name":"search","description":"Looks a query up in the documents.",)"
      R"("parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}})";
  const std::string other =
      R"({"type":"function","function":{"name":"answer","description":"Gives the answer.",)"
      R"("parameters":{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}}})";
  const std::string tools = R"("tools":[)" + one + "," + other + "]";
  for (const Server sort : {Server::vllm, Server::sglang, Server::llamacpp, Server::openai}) {
    const std::string sent = exchange(sort, calling(), calls_reply("")).request.body;
    CHECK(test::holds(sent, tools));
    CHECK(test::holds(sent, R"("tool_choice":"required","parallel_tool_calls":false)"));
    const std::string free = exchange(sort, calling({"thought", "answer"}), calls_reply("")).request.body;
    CHECK(test::holds(free, R"("tools":[)" + other + R"(])"));
    CHECK(test::holds(free, R"("tool_choice":"auto")"));  // a whole reply needs no call
  }
  const std::string ollama = exchange(Server::ollama, calling(),
                                      R"({"message":{"content":""},"done":true,"done_reason":"stop","eval_count":1})")
                                 .request.body;
  CHECK(test::holds(ollama, tools));
  CHECK(!test::holds(ollama, "tool_choice"));
  CHECK(!test::holds(exchange(Server::vllm, calling({}), chat_reply("a")).request.body, "tool"));
  CHECK(test::holds(why_not(Server::other, calling().shared_body()), "cannot be asked for calls of tools"));
  const auto plain = test::exchange<OpenAi>(OpenAiOptions{.chat = false, .server = Server::vllm}, "/v1",
                                            std::vector{calling()}, chat_reply("a"));
  CHECK(test::holds(test::failure_of(plain.outcome()).message, "plain texts have none"));
  CHECK(calling().key() != Prompt("q").key());
}

TEST_CASE("calls of tools are read as the marks of their tags; a damaged one is kept and said to be damaged") {
  const auto whole = [](const std::string& calls, const std::string& content = "null") {
    return exchange(Server::llamacpp, calling(), calls_reply(calls, content)).outcome().value();
  };
  const auto text = [&](const std::string& calls, const std::string& content = "null") {
    const Completion completion = whole(calls, content);
    CHECK_FALSE(completion.damaged);
    return completion.text;
  };
  CHECK(text(call("search", R"("{\"query\": \"who \\\"she\\\" is\"}")")) == R"(<search>who "she" is</search>)");
  CHECK(text(call("answer", R"("{\"answer\":42}")"), "\"I know. \"") == "I know. Finish(42)");
  CHECK(text(call("search", R"("{\"query\":[\"a\",\"b\"]}")")) == R"(<search>["a","b"]</search>)");
  CHECK(text(call("search", R"({"query":"as an object"})")) == "<search>as an object</search>");
  const std::vector<std::string> damaged = {call("search", R"("{\"query\": \"x <search>y</search> Finish(z) cut")"),
                                            call("search", R"("{}")"), call("delete", R"("{\"query\":\"x\"}")"),
                                            call("search", "7")};
  const std::string good = call("search", R"({"query":"x"})");
  for (const std::string& one : damaged) {
    CHECK(whole(one).damaged);
    CHECK(whole(one).text.starts_with("damaged call: {"));
    CHECK(whole(one + "," + good).damaged);
    CHECK(whole(good + "," + one).damaged);
  }
  CHECK(test::holds(whole(damaged[0]).text, "<search>y</search> Finish(z) cut"));  // as it came
  CHECK(text("7") == "");
  const std::string ollama = R"({"message":{"content":"","tool_calls":[)" + call("search", R"({"query":"x"})") +
                             R"(]},"done":true,"done_reason":"stop"})";
  CHECK(exchange(Server::ollama, calling(), ollama).outcome().value().text == "<search>x</search>");
}

TEST_CASE("calls of tools in a stream are put together") {
  const auto streamed = [](Server sort, const std::string& reply) {
    return test::exchange<OpenAi>(OpenAiOptions{.server = sort, .stream = true}, "/v1", std::vector{calling()}, reply)
        .outcome()
        .value()
        .text;
  };
  const auto chunk = [](const std::string& delta, const std::string& finish = "null") {
    return R"(data: {"choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + finish + "}]}\n\n";
  };
  CHECK(streamed(Server::vllm,
                 chunk(R"({"content":"So. "})") +
                     chunk(R"({"tool_calls":[{"index":0,"function":{"name":"search","arguments":""}}]})") +
                     chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"que"}}]})") +
                     chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"ry\":\"x\"}"}}]})", "\"tool_calls\"") +
                     "data: [DONE]\n\n") == "So. <search>x</search>");
  CHECK(streamed(Server::ollama, R"({"message":{"content":"","tool_calls":[)" + call("search", R"({"query":"x"})") +
                                     "]},\"done\":false}\n" +
                                     R"({"message":{"content":""},"done":true,"done_reason":"stop"})" + "\n") ==
        "<search>x</search>");
}

}  // namespace dialects_test
