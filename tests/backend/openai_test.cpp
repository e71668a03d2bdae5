#include <espalier/backend/openai.hpp>

#include "http_testing.hpp"
#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace openai_test {

using namespace espalier::detail;
using namespace espalier::test::names;
using Kind = BackendError::Kind;

namespace {

std::string chat_reply(const std::string& text, const std::string& finish = "stop", const std::string& more = "") {
  std::string content;
  JsonWriter(content).value(text);
  return R"({"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":)" + content +
         R"(},"finish_reason":")" + finish + "\"" + more + R"(}],"usage":{"prompt_tokens":7,"completion_tokens":3}})";
}
/// A reply with choices of the given indices, choice i with the text "c<i>".
std::string choices(const std::vector<int>& indices, const std::string& usage = "null") {
  std::string out = R"({"choices":[)";
  for (std::size_t i = 0; i < indices.size(); ++i)
    out += (i ? "," : "") + std::string(R"({"index":)") + std::to_string(indices[i]) + R"(,"message":{"content":"c)" +
           std::to_string(indices[i]) + R"("},"finish_reason":"stop"})";
  return out + R"(],"usage":)" + usage + "}";
}
OpenAiOptions options(const FaultServer& server, OpenAiOptions more = {}) {
  return test::served_at(server.url("/v1"), std::move(more));
}
/// `count` samples of one sampled prompt, whose bodies are equal, not the same.
std::vector<Prompt> samples(std::uint32_t count, std::uint64_t seed = 100) {
  std::vector<Prompt> prompts;
  for (std::uint32_t i = 0; i < count; ++i)
    prompts.emplace_back(test::body({{"user", "q"}}, {.temperature = 1}), seed, i);
  return prompts;
}
/// What comes of one greedy prompt in two attempts when the server sends `reply`.
Outcome<Completion> outcome_of(const std::string& reply, const OpenAiOptions& more, int status = 200) {
  return test::exchange<OpenAi>(more, "/v1", std::vector{Prompt("q")}, reply, status).outcome();
}
/// The text that comes of one with these stops, in as many attempts as it takes.
std::string text_of(const std::string& reply, std::vector<std::string> stop = {}) {
  FaultServer server(Answer{.body = reply});
  OpenAi model(options(server));
  return test::ask(model, {Prompt("q", {.stop = std::move(stop)})})[0].value().text;
}
/// The failure of one prompt, with at most `attempts` attempts, when the server always gives `answer`.
test::Failure failure_under(const Answer& answer, int attempts = 2) {
  FaultServer server(answer);
  OpenAi model(options(server, {.http = {.max_attempts = attempts, .max_response_bytes = 10'000}}));
  const auto failure = test::failure_of(test::ask(model, {Prompt("q")})[0]);
  const std::size_t expected = failure.kind == Kind::permanent ? 1 : std::size_t(attempts);
  CHECK(model.accounts().requests == expected);
  CHECK(server.received().size() == expected);
  return failure;
}
/// True if one failure by `first` and then a good reply give the good reply, by two attempts.
bool recovers_from(const Answer& first) {
  FaultServer server(
      [&](const Received&, std::size_t number) { return number == 0 ? first : Answer{.body = chat_reply("good")}; });
  OpenAiOptions chosen = options(server, {.http = {.max_response_bytes = 10'000}});
  if (first.fault == Fault::stall) chosen.http.timeout_s = 2;
  OpenAi model(chosen);
  const auto outcome = test::ask(model, {Prompt("q")})[0];
  return outcome.ok() && outcome.value().text == "good" && model.accounts().requests == 2;
}
/// The completion of a chat whose message has these fields.
Completion said(const std::string& message, bool stream = false) {
  const std::string choice =
      R"({"choices":[{"index":0,")" + std::string(stream ? "delta" : "message") + R"(":{)" + message + "}";
  const std::string end = R"(,"finish_reason":"stop"}],"usage":{"completion_tokens":1}})";
  const std::string reply = stream ? "data: " + choice + end + "\n\ndata: [DONE]\n\n" : choice + end;
  return outcome_of(reply, {.stream = stream}).value();
}

}  // namespace

TEST_CASE("a chat request carries every sampling field, and the reply's text, finish and tokens come back") {
  FaultServer server(Answer{.body = chat_reply("Paris", "length")});
  OpenAi model(options(server));
  const auto asked = test::body({{"system", "be short"}, {"user", "capital of\n\"France\"?"}},
                                {.temperature = 0.7, .top_p = 0.9, .max_tokens = 64, .stop = {"</a>", "\n"}});
  const Completion answer = test::ask(model, {Prompt(asked, 5, 2)})[0].value();
  CHECK(answer.text == "Paris");
  CHECK(answer.finish == Completion::Finish::length);
  CHECK(answer.prompt_tokens == 7);
  CHECK(answer.completion_tokens == 3);
  CHECK(!answer.logprob);
  const Received request = server.received().at(0);
  CHECK(request.path == "/v1/chat/completions");
  CHECK(test::holds(request.headers, "content-type: application/json"));
  CHECK(!test::holds(request.headers, "authorization"));
  CHECK(request.body ==
        R"({"model":"m","messages":[{"role":"system","content":"be short"},)"
        R"({"role":"user","content":"capital of\n\"France\"?"}],"temperature":0.7,"top_p":0.9,"max_tokens":64,)"
        R"("stop":["</a>","\n"],"seed":7})");
}

TEST_CASE("a reply that was asked for in chunks is put together, and asked for again if it breaks off") {
  FaultServer server([](const Received&, std::size_t number) {
    const std::string chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"he\"}}]}\n\n";
    const std::string rest =
        "data: {\"choices\":[{\"delta\":{\"content\":\"llo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    return Answer{.body = number == 0 ? chunk : chunk + rest};
  });
  OpenAi model(options(server, {.stream = true}));
  CHECK(test::ask(model, {Prompt("q")})[0].value().text == "hello");
  REQUIRE(server.received().size() == 2);
  CHECK(test::holds(server.received()[0].body, R"("stream":true,"stream_options":{"include_usage":true})"));
}

TEST_CASE("a greedy request has no seed, and fields that are off are not sent") {
  FaultServer server(Answer{.body = chat_reply("a")});
  OpenAi model(options(server));
  test::ask(model, {Prompt("q", Sampling(), 99, 3)});
  CHECK(server.received().at(0).body ==
        R"({"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0,"top_p":1,"max_tokens":512})");
}

TEST_CASE("seeds are those of the samples, kept below 2^31") {
  FaultServer server(Answer{.body = chat_reply("a")});
  OpenAi model(options(server));
  test::ask(model, samples(2, 0xffffffffffffffff));
  std::vector<std::string> seeds;
  for (const auto& request : server.received()) seeds.push_back(request.body.substr(request.body.find("\"seed\"")));
  std::sort(seeds.begin(), seeds.end());
  CHECK(seeds == std::vector<std::string>{R"("seed":0})", R"("seed":2147483647})"});
}

TEST_CASE("a raw prompt goes to plain completions, and chat prompts where chat is off, the last words at their end") {
  FaultServer server(Answer{.body = R"({"choices":[{"index":0,"text":" world","finish_reason":"stop"}]})"});
  OpenAi chat(options(server));
  const Completion answer = test::ask(chat, {Prompt(test::body({{"", "hello"}}), 0, 0)})[0].value();
  CHECK(answer.text == " world");
  CHECK(answer.prompt_tokens == 0);
  CHECK(answer.completion_tokens == 0);
  OpenAi plain(options(server, {.chat = false}));
  test::ask(plain, {Prompt(test::body({{"system", "rules"}, {"user", "ask"}, {"assistant", "Pa"}}), 0, 0)});
  CHECK(server.received().at(0).path == "/v1/completions");
  CHECK(test::holds(server.received().at(0).body, R"("prompt":"hello")"));
  CHECK(server.received().at(1).path == "/v1/completions");
  CHECK(test::holds(server.received().at(1).body, R"("prompt":"rules\n\nask\n\nPa")"));
}

TEST_CASE("extra_body is merged into the body: it replaces, adds and, with null, removes") {
  FaultServer server(Answer{.body = chat_reply("a")});
  OpenAi model(options(server, {.extra_body = R"({"top_p":0.5,"guided":{"a":[1,2]},"x":1})"}));
  test::ask(model, {Prompt("q", {.extra_body = R"({"max_tokens":null,"max_completion_tokens":9,"x":2})"})});
  CHECK(server.received().at(0).body ==
        R"({"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0,"top_p":0.5,)"
        R"("guided":{"a":[1,2]},"x":2,"max_completion_tokens":9})");
}

TEST_CASE("where the server draws n samples, neighbours of one prompt share a message, told apart by index") {
  FaultServer server(Answer{.body = choices({2, 0, 1}, R"({"prompt_tokens":10,"completion_tokens":8})")});
  OpenAi model(options(server, {.server = Server::openai}));
  const auto outcomes = test::ask(model, samples(3));
  CHECK(server.received().size() == 1);
  CHECK(test::holds(server.received()[0].body, R"("n":3,"seed":100})"));
  CHECK(outcomes[0].value().prompt_tokens == 10);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(outcomes[i].value().text == "c" + std::to_string(i));
    CHECK(outcomes[i].value().completion_tokens == (i < 2 ? 3 : 2));
  }
  CHECK(model.accounts().requests == 1);
  CHECK(model.accounts().paid_applied == 3);
}

TEST_CASE("where the server draws n samples, other prompts, other seeds, gaps and greedy prompts stay alone") {
  FaultServer server(Answer{.body = choices({0})});
  OpenAi model(options(server, {.server = Server::openai}));
  const auto one = samples(4), other = samples(2, 7);
  test::ask(model, {one[0], one[2], other[0], Prompt(one[0].shared_body(), 8, 1), Prompt("g", Sampling(), 1, 0),
                    Prompt("g", Sampling(), 1, 1)});
  CHECK(server.received().size() == 6);
  for (const auto& request : server.received()) CHECK(!test::holds(request.body, "\"n\""));
}

TEST_CASE("a short reply has only the missing samples asked again, under their own seeds") {
  FaultServer server([](const Received&, std::size_t number) {
    return Answer{.body = choices(number == 0 ? std::vector{0, 2} : std::vector{0})};
  });
  OpenAi model(options(server, {.server = Server::openai}));
  const auto outcomes = test::ask(model, samples(4));
  const auto requests = server.received();
  REQUIRE(requests.size() == 3);
  CHECK(test::holds(requests[0].body, R"("n":4,"seed":100})"));
  const std::string again = requests[1].body + requests[2].body;
  for (const char* seed : {"101", "103"})
    CHECK(test::holds(again, std::string(R"(,"max_completion_tokens":512,"seed":)") + seed + '}'));
  CHECK(outcomes[2].value().text == "c2");
  CHECK(outcomes[3].value().text == "c0");
}

TEST_CASE("repeated, surplus and absent choices are damage") {
  for (const auto& indices :
       {std::vector{0, 0}, std::vector{1}, std::vector{-1}, std::vector{0, 1}, std::vector<int>{}}) {
    CHECK(recovers_from({.body = choices(indices)}));
    CHECK(failure_under({.body = choices(indices)}).kind == Kind::transport);
  }
}

TEST_CASE("transport failures are tried again") {
  for (const int status : {408, 409, 429, 500, 502, 503, 504, 529}) {
    CAPTURE(status);
    CHECK(recovers_from({.body = R"({"error":{"message":"busy"}})", .status = status}));
    const auto failure = failure_under({.body = R"({"error":{"message":"busy"}})", .status = status}, 3);
    CHECK(failure.kind == Kind::transport);
    CHECK(test::holds(failure.message, "HTTP " + std::to_string(status) + ": busy (given up after attempt 3)"));
  }
  CHECK(recovers_from({.fault = Fault::close}));
  CHECK(recovers_from({.body = chat_reply("half"), .fault = Fault::reset}));
  CHECK(recovers_from({.fault = Fault::stall}));
}

TEST_CASE("permanent failures are reported at once") {
  for (const int status : {400, 401, 403, 404, 405, 413, 422}) {
    CAPTURE(status);
    const auto failure =
        failure_under({.body = R"({"error":{"message":"no such thing","code":"c"}})", .status = status});
    CHECK(failure.kind == Kind::permanent);
    CHECK(test::holds(failure.message, "/v1/chat/completions: HTTP " + std::to_string(status) + ": no such thing"));
    CHECK(!test::holds(failure.message, "given up"));
  }
  for (const char* quota : {R"("code":"insufficient_quota")", R"("type":"insufficient_quota","code":null)"})
    CHECK(failure_under({.body = R"({"error":{"message":"pay",)" + std::string(quota) + "}}", .status = 429}).kind ==
          Kind::permanent);
}

TEST_CASE("the server's words are found in every shape") {
  const auto said = [](const std::string& body) { return failure_under({.body = body, .status = 400}).message; };
  const auto ends = [](const std::string& text, const std::string& end) { return text.ends_with("HTTP 400" + end); };
  CHECK(ends(said(R"({"error":"model not loaded"})"), ": model not loaded"));
  CHECK(ends(said(R"({"object":"error","message":"too long","code":400})"), ": too long"));
  CHECK(ends(said(R"({"message":"plain"})"), ": plain"));
  CHECK(ends(said(R"({"error":{"message":"Bad value","param":"top_p"}})"), ": Bad value (top_p)"));
  CHECK(ends(said(R"({"error":{"message":"top_p is bad","param":"top_p"}})"), ": top_p is bad"));
  CHECK(ends(said(R"({"error":{"message":"bad","param":null}})"), ": bad"));
  CHECK(ends(said(R"({"detail":[{"loc":["body"],"msg":"field required"}]})"),
             R"(: [{"loc":["body"],"msg":"field required"}])"));
  CHECK(ends(said("<html>\r\n <b>no</b>\x01\xff</html>"), ": <html> <b>no</b> \xEF\xBF\xBD</html>"));
  CHECK(ends(said(""), ""));
  CHECK(said(std::string(5000, 'x')).size() < 300);
  CHECK(ends(said(R"({"error":"'temperature' does not support 0.7"})"),
             R"(: 'temperature' does not support 0.7; leave the field out by --extra-body '{"temperature":null}')"));
  CHECK(test::holds(said(R"({"error":{"message":"Unsupported","param":"stop"}})"), R"('{"stop":null}')"));
}

TEST_CASE("what is not a completion is damage: HTML, nothing, half of JSON, no text, too much") {
  std::vector<std::string> bodies{"", chat_reply("x").substr(0, 60), chat_reply("x") + "}"};
  std::istringstream others(
      R"(<html>hello</html> { [] null {"choices":null} {"choices":[{}]} {"choices":["a"]} )"
      R"({"choices":[{"index":0,"message":{"content":null}}]} {"choices":[{"index":0,"message":{"content":5}}]} )"
      R"({"choices":[{"index":0,"message":{"content":5},"finish_reason":"length"}]})");
  for (std::string body; others >> body;) bodies.push_back(body);
  bodies.push_back(chat_reply(std::string(20'000, 'x')));
  for (const auto& body : bodies) {
    CAPTURE(body);
    CHECK(recovers_from({.body = body}));
    CHECK(failure_under({.body = body}).kind == Kind::transport);
  }
  CHECK(test::holds(failure_under({.body = bodies.back()}).message, "max_response_bytes"));
  CHECK(test::holds(failure_under({.body = "<html>"}).message, "the reply is not JSON"));
}

#if !defined(__has_feature)
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr std::size_t kept_when_freed = std::size_t(256) << 20;  // the sanitizer's own default
#else
constexpr std::size_t kept_when_freed = 0;
#endif

TEST_CASE("replies without end hold little memory, however many, and the others arrive") {
  constexpr std::size_t megabyte = std::size_t(1) << 20;
  FaultServer server([](const Received& request, std::size_t) {
    const bool endless = request.body.find("endless") != std::string::npos;
    return Answer{.body = endless ? "" : chat_reply("good"), .fault = endless ? Fault::endless : Fault::none};
  });
  const auto held = [] {
    std::ifstream in("/proc/self/statm");
    std::size_t all = 0, resident = 0, shared = 0;
    in >> all >> resident >> shared;
    return (resident - shared) * 4096;
  };
  OpenAi model(options(server, {.http = {.max_attempts = 2, .max_receiving_bytes = 32 * megabyte}}));
  const std::size_t before = held();
  for (std::size_t i = 0; i < 32; ++i) model.submit(i, Prompt((i % 2 ? "endless " : "q") + std::to_string(i)));
  std::size_t most = before, replies = 0, good = 0, given_up = 0;
  while (replies < 32) {
    for (const auto& reply : model.poll(std::chrono::milliseconds(1))) {
      ++replies;
      good += reply.outcome.ok() && reply.outcome.value().text == "good";
      const auto failure = test::failure_of(reply.outcome);
      given_up += failure.kind == Kind::transport &&
                  test::holds(failure.message, "max_receiving_bytes together (given up after attempt 2)");
    }
    most = std::max(most, held());
  }
  CHECK(good == 16);
  CHECK(given_up == 16);
  CHECK(most - before < kept_when_freed + 128 * megabyte);  // 16 replies of 64 MiB without the limit
}

TEST_CASE("no reply grows where all under way have twice max_receiving_bytes, even if others hold them") {
  FaultServer server(Answer{.body = std::string(100, 'x')});
  const HttpOptions limits = test::quick({.max_receiving_bytes = 1000});
  const auto endpoint = std::make_shared<const HttpEndpoint>(Url(server.url("/")), "", limits);
  HttpLoop loop;
  const auto ends = [&](std::size_t held) {
    HttpReceiving all{7, held};  // 8 replies: a share of 125 bytes
    HttpTransfer transfer(all);
    transfer.prepare(endpoint, 0, "", 60);
    loop.add(transfer.easy());
    auto ended = loop.ended();
    for (; !ended; ended = loop.ended()) loop.turn(HttpLoop::Clock::now() + std::chrono::seconds(1));
    loop.remove(transfer.easy());
    return ended->second;
  };
  CHECK(ends(1900) == CURLE_OK);
  CHECK(ends(1902) == CURLE_WRITE_ERROR);
}

TEST_CASE("a byte order mark before a reply, whole or in chunks, or before an error is no damage") {
  const std::string mark = "\xEF\xBB\xBF";
  for (const bool stream : {false, true})
    CHECK(outcome_of(mark + chat_reply("a"), {.stream = stream}).value().text == "a");
  const std::string chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n";
  CHECK(outcome_of(mark + chunk + "data: [DONE]\n\n", {.stream = true}).value().text == "b");
  const auto quota = outcome_of(mark + R"({"error":{"message":"no","code":"insufficient_quota"}})", {}, 429);
  CHECK(test::failure_of(quota).kind == Kind::permanent);
}

TEST_CASE("a redirect is not followed") {
  FaultServer elsewhere(Answer{.body = chat_reply("stolen")});
  const auto failure =
      failure_under({.status = 307, .headers = "Location: " + elsewhere.url("/v1/chat/completions") + "\r\n"});
  CHECK(failure.kind == Kind::permanent);
  CHECK(test::holds(failure.message, "redirects are not followed"));
  CHECK(elsewhere.received().empty());
}

TEST_CASE("a slow reply arrives whole") {
  FaultServer server(Answer{.body = chat_reply("slow"), .fault = Fault::drip});
  OpenAi model(options(server));
  CHECK(test::ask(model, {Prompt("q")})[0].value().text == "slow");
}

TEST_CASE("a refused connection is a transport failure that names the address without its secrets") {
  const std::string url = "http://user:hunter2@" + FaultServer::refusing_url().substr(7) + "/v1?token=hunter3";
  OpenAi model(test::served_at<OpenAiOptions>(url, {.http = {.max_attempts = 2}}));
  const auto failure = test::failure_of(test::ask(model, {Prompt("q")})[0]);
  CHECK(failure.kind == Kind::transport);
  CHECK(failure.message.find("POST http://127.0.0.1:") == 0);
  CHECK(test::holds(failure.message, "/v1/chat/completions: "));  // then words of libcurl, which vary
  CHECK(test::holds(failure.message, "connect to server (given up after attempt 2)"));
  CHECK(!test::holds(failure.message, "hunter"));
  CHECK(model.accounts().requests == 2);
}

TEST_CASE("the deadline ends the attempts where no limit does") {
  FaultServer server(Answer{.status = 503});
  OpenAiOptions chosen = options(server);
  chosen.http.deadline_s = 1;
  OpenAi model(chosen);
  CHECK(test::failure_of(test::ask(model, {Prompt("q")})[0]).kind == Kind::transport);
  CHECK(model.accounts().requests > 1);
}

TEST_CASE("a pause is asked for in seconds, as a date or in milliseconds, and none begins that passes the deadline") {
  const auto requests = [](const std::string& headers, const char* more = "(given up after attempt 2)") {
    FaultServer server(Answer{.status = 429, .headers = headers});
    OpenAi model(options(server, {.http = {.max_attempts = 2}}));
    CHECK(test::holds(test::failure_of(test::ask(model, {Prompt("q")})[0]).message, more));
    return model.accounts().requests;
  };
  CHECK(requests("Retry-After: 3600\r\n", "the server asks by 'Retry-After: 3600' to wait beyond the deadline)") == 1);
  for (const char* longer :
       {"retry-after:3600\r\n", "Retry-After-Ms: 3600000\r\n", "Retry-After: Sun, 07 Nov 2094 08:49:37 GMT\r\n",
        "retry-after-ms: 3600000\r\nRetry-After: 1\r\n", "retry-after-ms: inf\r\nRetry-After: 3600\r\n"})
    CHECK(requests(longer, "etry-") == 1);
  for (const char* none :
       {"Retry-After: soon\r\n", "Retry-After: -3\r\n", "Retry-After:\r\n", "retry-after-ms: x\r\n",
        "retry-after-ms: inf\r\n", "retry-after-ms: nan\r\n", "Retry-After: Sun, 06 Nov 1994 08:00:00 GMT\r\n",
        "X-Retry-After: 3600\r\n", "Retry-After: 3600\r\nRetry-After-Ms: 1\r\n"})
    CHECK(requests(none) == 2);
}

TEST_CASE("the wait between attempts is uniform below a bound that doubles up to its limit") {
  const HttpOptions options{.backoff_s = 0.5, .backoff_limit_s = 3};
  CHECK(options.backoff(1, 0) == 0);
  CHECK(options.backoff(1, 0.5) == 0.25);
  CHECK(options.backoff(3, 0.5) == 1);
  CHECK(options.backoff(4, 0.5) == 1.5);
  CHECK(options.backoff(1'000'000, 0.5) == 1.5);
}

TEST_CASE("a request that the server asked to wait is sent again after that, not before") {
  FaultServer server([](const Received&, std::size_t number) {
    return number == 0 ? Answer{.status = 503, .headers = "retry-after-ms: 120\r\n"} : Answer{.body = chat_reply("a")};
  });
  OpenAi model(options(server));
  const auto start = std::chrono::steady_clock::now();
  CHECK(test::ask(model, {Prompt("q")})[0].ok());
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(120));
}

TEST_CASE("a stop string that the server took away is put back") {
  const std::vector<std::string> tags = {"</search>", "</answer>"};
  const auto reported = [](const std::string& value) { return ",\"stop_reason\":" + value; };
  CHECK(text_of(chat_reply("<search>a", "stop", reported(R"("</search>")")), tags) == "<search>a</search>");
  CHECK(text_of(chat_reply("<search>a", "stop", R"(,"matched_stop":"</search>")"), tags) == "<search>a</search>");
  CHECK(text_of(chat_reply("<search>a", "stop", reported("151645")), tags) == "<search>a");
  CHECK(text_of(chat_reply("<search>a", "stop", reported("null")), tags) == "<search>a</search>");
  CHECK(text_of(chat_reply("<search>a", "stop"), tags) == "<search>a</search>");
  CHECK(text_of(chat_reply("<search> <answer>b", "stop"), tags) == "<search> <answer>b</answer>");
  CHECK(text_of(chat_reply("<answer>b</answer>", "stop", reported(R"("</answer>")")), tags) == "<answer>b</answer>");
  CHECK(text_of(chat_reply("<answer>b</answer>\n", "stop"), tags) == "<answer>b</answer>\n");
  CHECK(text_of(chat_reply("I am done", "stop"), tags) == "I am done");
  CHECK(text_of(chat_reply("no tag at all", "stop"), {"</answer>"}) == "no tag at all");
  CHECK(text_of(chat_reply("no tag to close", "stop"), {"Observation:"}) == "no tag to closeObservation:");
  CHECK(text_of(chat_reply("<search>a", "length", reported(R"("</search>")")), tags) == "<search>a");
  CHECK(text_of(chat_reply("line", "stop")) == "line");
}

TEST_CASE("a tag that the prompt left open is closed, one that it shows closed is not, by the protocol's marks too") {
  PromptBody body;
  body.sampling.stop = {"</answer>"};
  body.messages.push_back({"user", "such as <answer> x </answer>. Go on: <answer>"});
  CHECK(missing_stop("Paris", body, std::nullopt) == "</answer>");
  body.messages.back().content = "such as <answer> x </answer>. Go on";
  CHECK(missing_stop("Paris", body, std::nullopt) == "");
  body.sampling.stop = {"[end]", "[halt]"};
  auto protocol = std::make_shared<Protocol>();
  protocol->tags = {{"answer", "[begin]", "[end]"}};
  CHECK(missing_stop("x [begin] y", body, std::nullopt) == "");
  body.protocol = protocol;
  CHECK(missing_stop("x [begin] y", body, std::nullopt) == "[end]");
}

TEST_CASE("thoughts that the server splits off stand in front as a think block") {
  const auto with = [](const std::string& message, const std::string& finish = "stop") {
    return R"({"choices":[{"index":0,"message":{)" + message + R"(},"finish_reason":")" + finish + R"("}]})";
  };
  CHECK(text_of(with(R"("reasoning_content":"hm","content":"yes")")) == "<think>\nhm\n</think>\nyes");
  CHECK(text_of(with(R"("reasoning":"hm","content":"yes")")) == "<think>\nhm\n</think>\nyes");
  CHECK(text_of(with(R"("reasoning_content":null,"content":"yes")")) == "yes");
  const auto cut = outcome_of(with(R"("reasoning_content":"hm","content":null)", "length"), {}).value();
  CHECK(cut.text == "<think>\nhm\n</think>\n");
  CHECK(cut.finish == Completion::Finish::length);
  CHECK(text_of(with(R"("reasoning_content":"</answer>","content":"<answer>b")"), {"</answer>", "\n"}) ==
        "<think>\n</answer>\n</think>\n<answer>b</answer>");
}

TEST_CASE("a content in parts is their text, whole or in a stream, and a part that is no text damages the reply") {
  for (const bool stream : {false, true}) {
    CAPTURE(stream);
    const Completion parts =
        said(R"("content":[{"type":"text","text":"<answer>a"},{"type":"output_text","text":" b</answer>"}])", stream);
    CHECK(parts.text == "<answer>a b</answer>");
    CHECK(parts.finish == Completion::Finish::stop);
    CHECK_FALSE(parts.damaged);
    CHECK(said(R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"b"}])",
               stream)
              .text == "<think>\nhm\n</think>\nb");
    CHECK(said(R"("content":[])", stream).text == "");
    const Completion picture =
        said(R"("content":[{"type":"text","text":"see "},{"type":"image_url","image_url":{"url":"data:x"}}])", stream);
    CHECK(picture.damaged);
    CHECK(picture.text == "see damaged reply: it has a part of the sort 'image_url'");
    CHECK(said(R"("content":["a"])", stream).damaged);
  }
  CHECK(said(R"("reasoning_content":"hm","reasoning":"hm","content":"b")", true).text == "<think>\nhm\n</think>\nb");
}

TEST_CASE("a refusal is the text of a reply that is refused, whole, in parts or in a stream") {
  for (const bool stream : {false, true})
    for (const char* message :
         {R"("content":null,"refusal":"I can't help.")", R"("content":"","refusal":"I can't help.")",
          R"("refusal":"I can't help.")", R"("content":[{"type":"refusal","refusal":"I can't help."}])"}) {
      CAPTURE(message);
      const Completion refused = said(message, stream);
      CHECK(refused.text == "I can't help.");
      CHECK(refused.finish == Completion::Finish::refused);
      CHECK(said(R"("content":"a","refusal":null)", stream).finish == Completion::Finish::stop);
    }
}

TEST_CASE("a prompt that is too long for a model of this process gets a completion that says so") {
  const std::string too_long =
      R"({"error":{"code":400,"type":"exceed_context_size_error","message":"request (602 tokens) )"
      R"(exceeds the available context size (256 tokens), try increasing it"}})";
  CHECK(test::holds(outcome_of(too_long, {}, 400).value().text, "context 256: give its server a longer context"));
  const Completion reply = outcome_of(too_long, {.in_process = true}, 400).value();
  CHECK(reply.finish == Completion::Finish::too_long);
  CHECK(reply.prompt_tokens == 602);
  CHECK(reply.text ==
        "the prompt has 602 tokens and the model's context 256: give gguf:FILE?context=N, or shorter prompts");
  CHECK_FALSE(outcome_of(R"({"error":{"message":"no such field"}})", {.in_process = true}, 400).ok());
}

TEST_CASE("bytes that are not UTF-8 and halves of surrogate pairs are asked for again, and at last become U+FFFD") {
  CHECK(recovers_from({.body = "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\xff\xc3z\"}}]}"}));
  CHECK(recovers_from({.body = R"({"choices":[{"index":0,"message":{"content":"a\ud800z"}}]})"}));
  const std::string bad = "\xEF\xBF\xBD";
  const auto text = [](const std::string& json) {
    return text_of(R"({"choices":[{"index":0,"message":{"content":")" + json + R"("},"finish_reason":"stop"}]})");
  };
  CHECK(text("a\xff\xc3z") == "a" + bad + bad + "z");
  CHECK(text("a\\ud800z") == "a" + bad + "z");
  CHECK(text("a\\uDC00\\n") == "a" + bad + "\n");
  CHECK(text("\\ud83d\\ud83d\\ude00") == bad + "\xF0\x9F\x98\x80");
  CHECK(text("\\\\ud800") == "\\ud800");
}

TEST_CASE("many requests share few connections and all arrive, whatever their order") {
  FaultServer server([](const Received& request, std::size_t number) {
    const auto at = request.body.find("question ");
    return Answer{.body = chat_reply(request.body.substr(at, request.body.find('"', at) - at)),
                  .delay = std::chrono::microseconds((number * 7919) % 3000)};
  });
  OpenAi model(options(server, {.http = {.max_in_flight = 16}}));
  std::vector<Prompt> prompts;
  for (int i = 0; i < 400; ++i) prompts.emplace_back("question " + std::to_string(i));
  const auto outcomes = test::ask(model, prompts);
  for (std::size_t i = 0; i < outcomes.size(); ++i) CHECK(outcomes[i].value().text == "question " + std::to_string(i));
  for (const auto& request : server.received()) CHECK(request.connection < 16);
  CHECK(model.accounts().requests == 400);
}

TEST_CASE("waiting requests leave in the order they came, to llama.cpp the oldest question's first, newest to oldest") {
  std::vector<Prompt> prompts;
  for (const std::string text : {"<a1", "<b2", "<a3", "<05", "<b6", "<07", "<a8", "<a9"}) {  // 0: of no question
    const char question = text[text.size() - 2];
    prompts.push_back(test::of_question(question == '0' ? 0 : static_cast<std::uint64_t>(question), text));
  }
  FaultServer server([](const Received& request, std::size_t number) {
    if (request.path == "/props") return Answer{.body = R"({"total_slots":3})"};
    return number > 17 ? Answer{.fault = Fault::stall} : Answer{.body = chat_reply("t")};
  });
  for (const Server kind : {Server::other, Server::llamacpp}) {
    OpenAi model(options(server, {.server = kind, .http = {.max_in_flight = 1}}));
    test::ask(model, prompts);
  }
  OpenAi model(options(server, {.server = Server::llamacpp}));  // one of a question
  for (std::size_t i = 0; i < prompts.size(); ++i) model.submit(i, prompts[i]);
  while (server.received().size() < 21) CHECK(model.poll(std::chrono::milliseconds(50)).empty());
  CHECK(model.poll(std::chrono::milliseconds(50)).empty());
  std::vector<std::string> order;
  for (const Received& request : server.received())
    order.push_back(request.path == "/props" ? "" : request.body.substr(request.body.find('<') + 1, 2));
  std::sort(order.begin() + 18, order.end());
  CHECK(order == std::vector<std::string>{"a1", "b2", "a3", "05", "b6", "07", "a8", "a9", "",   "a9", "a8",
                                          "a3", "a1", "b6", "b2", "05", "07", "",   "05", "a9", "b6"});
}

TEST_CASE("a session tells routers by a header or a field which requests are of one question") {
  const auto sent = [](const std::string& session, std::uint64_t question) {
    const std::vector asked{test::of_question(question, "q")};
    return test::exchange<OpenAi>(OpenAiOptions{.session = session}, "/v1", asked, chat_reply("a"), 200).request;
  };
  const Received plain = sent("", 0xabc), header = sent("X-Session: q-{question}", 0xabc);
  CHECK(header.body == plain.body);
  CHECK(test::holds(header.headers, "x-session: q-0000000000000abc\r\n"));
  CHECK(test::holds(header.headers, "content-type: application/json\r\n"));
  CHECK(sent("user={question}", 0xabc).body == R"({"user":"0000000000000abc",)" + plain.body.substr(1));
  CHECK(!test::holds(sent("X-Session: q-{question}", 0).headers, "x-session"));
}

TEST_CASE("a cancelled request closes its connection, is not answered, and frees its slot") {
  FaultServer server([](const Received& request, std::size_t) {
    return request.body.find("hang") != std::string::npos ? Answer{.fault = Fault::stall}
                                                          : Answer{.body = chat_reply("a")};
  });
  OpenAi model(options(server, {.http = {.max_in_flight = 1}}));
  model.submit(1, Prompt("hang"));
  model.submit(2, Prompt("waits in line"));
  model.submit(3, Prompt("good"));
  while (server.received().empty()) CHECK(model.poll(std::chrono::milliseconds(1)).empty());
  model.cancel(2);
  model.cancel(1);
  CHECK(server.wait_for_aborts(1));
  std::vector<Reply<Completion>> replies;
  while (replies.empty()) replies = model.poll(std::chrono::seconds(1));
  CHECK(replies.size() == 1);
  CHECK(replies[0].ticket == 3);
  CHECK(server.received().size() == 2);
  CHECK(model.accounts().paid_cancelled == 1);
  model.cancel(77);
  CHECK(model.poll(std::chrono::hours(24)).empty());  // nothing is in flight: no wait
}

TEST_CASE("one cancelled sample does not disturb the others of its message") {
  std::atomic<bool> go = false;
  FaultServer server([&](const Received&, std::size_t) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Answer{.body = choices({0, 2})};
  });
  OpenAi model(options(server, {.server = Server::openai}));
  const auto prompts = samples(3);
  for (std::size_t i = 0; i < 3; ++i) model.submit(i, prompts[i]);
  CHECK(model.poll(std::chrono::milliseconds(0)).empty());
  model.cancel(1);
  go = true;
  std::vector<Ticket> tickets;
  while (tickets.size() < 2)
    for (const auto& reply : model.poll(std::chrono::seconds(1))) tickets.push_back(reply.ticket);
  CHECK(tickets == std::vector<Ticket>{0, 2});
  CHECK(model.poll(std::chrono::seconds(1)).empty());
  CHECK(model.accounts().requests == 1);
}

TEST_CASE("services on one client hear of their own answers, and one may go while the other works") {
  FaultServer server([](const Received& request, std::size_t) {
    if (request.body.find("\"slow\"") != std::string::npos) return Answer{.fault = Fault::stall};
    return Answer{.body = chat_reply(request.body.find("\"b\"") != std::string::npos ? "from b" : "from a")};
  });
  const auto client = std::make_shared<HttpClient>();
  OpenAiOptions chosen = options(server);
  OpenAi a(chosen, client);
  {
    chosen.model = "slow";
    OpenAi slow(chosen, client);
    slow.submit(1, Prompt("q"));
    CHECK(slow.poll(std::chrono::milliseconds(0)).empty());
    CHECK(client->in_flight() == 1);
  }
  CHECK(client->in_flight() == 0);
  chosen.model = "b";
  OpenAi b(chosen, client);
  b.submit(5, Prompt("q"));
  CHECK(b.poll(std::chrono::milliseconds(0)).empty());
  CHECK(test::ask(a, {Prompt("q")})[0].value().text == "from a");
  std::vector<Reply<Completion>> replies;
  while (replies.empty()) replies = b.poll(std::chrono::seconds(1));
  CHECK(replies[0].ticket == 5);
  CHECK(replies[0].outcome.value().text == "from b");
}

TEST_CASE("a client may be destroyed with requests in every state") {
  FaultServer server([](const Received&, std::size_t number) {
    return number % 2 ? Answer{.status = 503} : Answer{.fault = Fault::stall};
  });
  OpenAiOptions chosen = options(server, {.http = {.max_in_flight = 8}});
  chosen.http.backoff_s = chosen.http.backoff_limit_s = 20;
  OpenAi model(chosen);
  for (std::size_t i = 0; i < 20; ++i) model.submit(i, Prompt("q"));
  while (server.received().size() < 8) CHECK(model.poll(std::chrono::milliseconds(5)).empty());
}

TEST_CASE("the key comes from a file or the environment, is sent, and is in no message") {
  FaultServer server(Answer{.body = R"({"error":{"message":"wrong key sk-secret-1 given"}})", .status = 401});
  const test::TemporaryFolder folder;
  const std::string file = folder / "key.txt";
  test::write_bytes(file, "sk-secret-1\n");
  setenv("ESPALIER_TEST_KEY", "sk-other", 1);
  OpenAiOptions chosen = options(server);
  chosen.api_key_env = "ESPALIER_TEST_KEY";
  OpenAi by_environment(chosen);
  test::ask(by_environment, {Prompt("q")});
  chosen.api_key_file = file;
  OpenAi by_file(chosen);
  const auto failure = test::failure_of(test::ask(by_file, {Prompt("q")})[0]);
  CHECK(test::holds(server.received()[0].headers, "authorization: bearer sk-other\r\n"));
  CHECK(test::holds(server.received()[1].headers, "authorization: bearer sk-secret-1\r\n"));
  CHECK(test::holds(failure.message, "wrong key [key] given"));
  CHECK(!test::holds(failure.message, "secret"));
  CHECK(by_file.fingerprint() == by_environment.fingerprint());
  test::write_bytes(file, "two\nlines");
  CHECK_THROWS_WITH_AS(OpenAi{chosen}, doctest::Contains("api_key_file"), std::invalid_argument);
  chosen.api_key_file = folder / "absent.txt";
  CHECK_THROWS_WITH_AS(OpenAi{chosen}, doctest::Contains("absent.txt: cannot be read"), espalier::InputError);
}

TEST_CASE("a key that is a common word changes no reply, and what a server says of it ends") {
  const std::string text = "none of the [key] test words, key by key";
  std::string body;
  int status = 200;
  FaultServer server([&](const Received&, std::size_t) { return Answer{.body = body, .status = status}; });
  const auto outcome = [&](const std::string& key, int under, std::string reply) {
    status = under;
    body = std::move(reply);
    setenv("ESPALIER_TEST_KEY", key.c_str(), 1);
    OpenAiOptions chosen = options(server);
    chosen.api_key_env = "ESPALIER_TEST_KEY";
    OpenAi model(chosen);
    return test::ask(model, {Prompt("q")})[0];
  };
  for (const std::string key : {"test", "key", "k", "[key]", "e", "]["}) {
    CAPTURE(key);
    CHECK(outcome(key, 200, chat_reply(text)).value().text == text);
    const auto said = [&](const std::string& reply) { return test::failure_of(outcome(key, 401, reply)).message; };
    CHECK(said(R"({"error":{"message":")" + text + R"("}})").size() < 300);
    CHECK(said(std::string(5000, key[0])).size() < 400);
    CHECK(test::holds(said("<" + key + ">"), ": <[key]>"));
    CHECK(test::holds(said("<" + key + key + ">"), ": <[key][key]>"));
  }
  const auto refused = [&](const std::string& reply) {
    return test::failure_of(outcome("a/b\"c", 401, reply)).message;
  };
  CHECK(test::holds(refused(R"({"no":"\u0061\/b\"c is wrong"})"), R"({"no":"[key] is wrong"})"));
  CHECK(test::holds(refused(R"({"error":"\u0061/b\"c is wrong"})"), ": [key] is wrong"));
}

TEST_CASE("the password and the query of an address are in no message, even if the server quotes them") {
  FaultServer server([](const Received& request, std::size_t) {
    return Answer{.body = "no " + request.path + " for hunter2 and hunter%32", .status = 404};
  });
  auto chosen = test::served_at<OpenAiOptions>("http://me:hunter%32@" + server.url("/v1?code=abc%20d").substr(7));
  OpenAi model(chosen);
  const std::string message = test::failure_of(test::ask(model, {Prompt("q")})[0]).message;
  CHECK(test::holds(message, "HTTP 404: no /v1/chat/completions?[key] for [key] and [key]"));
}

TEST_CASE("a proxy named in the environment is used") {
  FaultServer proxy(Answer{.body = chat_reply("through the proxy")});
  setenv("http_proxy", proxy.url().c_str(), 1);
  OpenAi model(test::served_at<OpenAiOptions>("http://model.invalid/v1"));
  const auto outcome = test::ask(model, {Prompt("q")})[0];
  unsetenv("http_proxy");
  CHECK(outcome.value().text == "through the proxy");
  CHECK(proxy.received()[0].path == "http://model.invalid/v1/chat/completions");
}

TEST_CASE("authorities are those of the environment, else libcurl's where it has them, else the machine's") {
  const test::TemporaryFolder folder;
  const std::string here = folder / "here.pem", later = folder / "later.pem", absent = folder / "absent.pem";
  test::write_bytes(here, "a certificate");
  test::write_bytes(later, "a certificate");
  const std::array usual = {absent.c_str(), here.c_str(), later.c_str()};
  CHECK(authorities_file("mine.pem", absent.c_str(), usual) == "mine.pem");
  CHECK(authorities_file("", absent.c_str(), usual) == here);
  CHECK(authorities_file(nullptr, absent.c_str(), usual) == here);
  CHECK(authorities_file(nullptr, later.c_str(), usual) == "");  // libcurl's own choice is there
  CHECK(authorities_file(nullptr, nullptr, usual) == "");        // it trusts by other means
  CHECK(authorities_file(nullptr, absent.c_str(), {}) == "");
}

TEST_CASE("TLS to a server that has none is a transport failure") {
  FaultServer server(Answer{.body = chat_reply("a")});
  OpenAiOptions chosen = options(server, {.http = {.max_attempts = 1}});
  chosen.url = "https" + server.url("/v1").substr(4);
  chosen.http.timeout_s = 2;
  OpenAi model(chosen);
  const auto failure = test::failure_of(test::ask(model, {Prompt("q")})[0]);
  CHECK(failure.kind == Kind::transport);
  CHECK(failure.message.find("POST https://127.0.0.1:") == 0);
}

/// What the exception for a bad option says, "" if there is none.
std::string invalid(auto make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("bad options are named") {
  const auto message = [](auto change) {
    OpenAiOptions chosen{.model = "m"};
    change(chosen);
    return invalid([&] { OpenAi model(chosen); });
  };
  CHECK(message([](auto&) {}) == "");
  CHECK(test::holds(message([](auto& o) { o.model = ""; }), "'model'"));
  CHECK(test::holds(message([](auto& o) { o.url = "localhost:8000"; }), "'url' is localhost:8000"));
  for (const std::string url : {"ftp://a:hunter2@b/", "ftp://b/?key=hunter2", "http://a:1#hunter2@b/"})
    CHECK(!test::holds(message([&](auto& o) { o.url = url; }), "hunter2"));
  for (const std::string more : {"http://a:p*hunter2@b/v1", "http://b/v1?key=hunter2*x"})
    CHECK(!test::holds(message([&](auto& o) { o.endpoints = {more}; }), "hunter2"));
  CHECK(test::holds(message([](auto& o) { o.url = "file:///etc/passwd"; }), "'url'"));
  CHECK(test::holds(message([](auto& o) { o.extra_body = R"({"n":4})"; }), "without model"));
  for (const std::string kept : {R"({"n":"hunter2"})", R"(["hunter2"])", R"({"hunter2")", R"({"api_key":"hunter2"})"}) {
    const std::string error = message([&](auto& o) { o.extra_body = kept; });
    CHECK(test::holds(error, "'extra_body'"));
    CHECK(!test::holds(error, "hunter2"));
  }
  for (const char* bad :
       {"x", ":{question}", "={question}", "x:1", "x y:{question}", "x\r\ny:{question}", "x:{question}\r\ny: 1",
        "x:{question}\xc3\xa9", "x={question}\"", "{question}", "user={question}"})
    CHECK(test::holds(message([&](auto& o) { o.session = bad, o.extra_body = R"({"user":2})"; }), "'session'"));
  for (const std::string own :
       {"Authorization", "HOST", "content-length", "Content-Type", "transfer-encoding", "Cookie", "Connection", "model",
        "messages", "prompt", "stream", "n", "seed", "stop", "Tools"})
    for (const char* sign : {":{question}", "={question}"})
      CHECK(test::holds(message([&](auto& o) { o.session = own + sign; }), "'session' names '" + own + "', which"));
  CHECK(test::holds(message([](auto& o) { o.http.max_in_flight = 0; }), "'max_in_flight' is 0"));
  CHECK(test::holds(message([](auto& o) { o.http.timeout_s = 0; }), "'timeout_s'"));
  CHECK(test::holds(message([](auto& o) { o.http.connect_timeout_s = std::nan(""); }), "'connect_timeout_s'"));
  CHECK(test::holds(message([](auto& o) { o.http.deadline_s = -1; }), "'deadline_s'"));
  CHECK(test::holds(message([](auto& o) { o.http.max_attempts = -1; }), "'max_attempts' is -1"));
  CHECK(test::holds(message([](auto& o) { o.http.backoff_limit_s = 0.1; }), "'backoff_limit_s'"));
}

TEST_CASE("an extra body with a credential is refused by the field's name, at any depth") {
  const auto refused = [](const std::string& body) {
    return invalid([&] { backend::detail::check_extra_body(body); });
  };
  for (const std::string name : {"api_key", "X-API-Key", "azureApiKey", "AUTHORIZATION", "Proxy-Authorization",
                                 "access_token", "auth-token", "password", "aws_secret_access_key", "Cookie", "token",
                                 "key", "HfToken2", "x.y.secret", "api keys", "pwd", "signature"}) {
    CAPTURE(name);
    const std::string quoted = "\"" + name + "\":";
    for (const std::string& body :
         {"{" + quoted + "\"hunter2\"}", "{\"a\":[1,{\"headers\":{" + quoted + "\"hunter2\"}}]}",
          "{" + quoted + "[\"hunter2\"]}", "{" + quoted + "{\"value\":\"hunter2\"}}",
          "{\"a\":{" + quoted + "[{\"properties\":{\"b\":[{\"c\":\"hunter2\"}]}}]}}"}) {
      CHECK(test::holds(refused(body), "the field '" + name + "'"));
      CHECK(!test::holds(refused(body), "hunter2"));
    }
  }
  CHECK(refused(R"({"max_tokens":5,"stop_token_ids":[1],"token":1,"stop":["password"],"key":{},"api_key":null})") ==
        "");
  for (const std::string name : {"bos_token", "padToken", "stop_tokens", "max_tokens", "prompt_cache_key", "keys_of"})
    CHECK(refused("{\"a\":[{\"" + name + "\":\"x\"}]}") == "");
  CHECK(refused(R"({"a":{"required":["password"],"properties":{"password":{"type":"string"}},"$defs":{"Token":)"
                R"({"properties":{"key":{"type":"string"}}}},"definitions":{"auth":{"enum":["x"]}}}})") == "");
  for (const char* shaped : {"Bearer hunter2", "sk-hunter2hunter2hunter2"})
    CHECK(test::holds(refused(std::string(R"({"a":{"x":")") + shaped + "\"}}"), "the field 'x'"));
  CHECK(refused(R"({"stop":["sk-","Bearer"]})") == "");
  CHECK(refused("") == "");
}

TEST_CASE("the fingerprint is of the model, not of the address") {
  const OpenAiOptions base{.model = "m", .api_key_env = ""};
  const auto changed = [&](auto change) {
    OpenAiOptions chosen = base;
    change(chosen);
    return OpenAi(chosen).fingerprint() != OpenAi(base).fingerprint();
  };
  CHECK(changed([](auto& o) { o.model = "other"; }));
  CHECK(changed([](auto& o) { o.revision = "r2"; }));
  CHECK(changed([](auto& o) { o.chat = false; }));
  CHECK(changed([](auto& o) { o.extra_body = R"({"a":1})"; }));
  CHECK(!changed([](auto& o) { o.url = "https://elsewhere/v1"; }));
  CHECK(!changed([](auto& o) { o.server = Server::vllm; }));
  CHECK(!changed([](auto& o) { o.session = "x:{question}"; }));
  CHECK(!changed([](auto& o) { o.http.max_in_flight = 3; }));
}

TEST_CASE("a prompt of ten megabytes goes through") {
  FaultServer server([](const Received& request, std::size_t) {
    return Answer{.body = chat_reply(std::to_string(request.body.size()))};
  });
  OpenAi model(options(server));
  const auto size = std::stoul(test::ask(model, {Prompt(std::string(10'000'000, 'x'))})[0].value().text);
  CHECK(size > 10'000'000);
}

}  // namespace openai_test
