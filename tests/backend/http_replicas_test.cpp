#include <espalier/backend/openai.hpp>
#include <espalier/llm/scheduler.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace http_replicas_test {

using namespace espalier::detail;
using namespace espalier::test::names;
using Kind = BackendError::Kind;

namespace {

/// The prompt's own text as a completion.
Answer echo(const Received& request) {
  const auto at = request.body.find("question ");
  const std::string text = request.body.substr(at, request.body.find('"', at) - at);
  return Answer{.body = R"({"choices":[{"index":0,"message":{"content":")" + text +
                        R"("},"finish_reason":"stop"}],"usage":null})"};
}
FaultServer::Script echoes() {
  return [](const Received& request, std::size_t) { return echo(request); };
}
/// A model at these servers; the first is its own.
OpenAiOptions at(const std::vector<const FaultServer*>& servers, std::vector<double> weights = {},
                 HttpOptions http = {}) {
  auto options = test::served_at<OpenAiOptions>(servers[0]->url("/v1"), {.http = std::move(http)});
  for (std::size_t i = 1; i < servers.size(); ++i)
    options.endpoints.push_back(servers[i]->url("/v1") + (weights.empty() ? "" : "*" + std::to_string(weights[i - 1])));
  return options;
}
Prompt about(std::uint64_t question, std::uint32_t number) {
  PromptBody body;
  body.messages = {{"user", "question " + std::to_string(question) + "." + std::to_string(number)}};
  body.affinity = mix64(question);
  return Prompt(std::make_shared<const PromptBody>(std::move(body)), 1, 0);
}
/// `each` prompts of each question, questions taking turns.
std::vector<Prompt> prompts(std::uint64_t questions, std::uint32_t each) {
  std::vector<Prompt> all;
  for (std::uint32_t i = 0; i < each; ++i)
    for (std::uint64_t q = 1; q <= questions; ++q) all.push_back(about(q, i));
  return all;
}
/// All answers; each has to be its prompt's.
std::string answers(OpenAi& model, const std::vector<Prompt>& asked) {
  std::string all;
  const auto outcomes = test::ask(model, asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    CHECK(outcomes[i].value().text == asked[i].text());
    all += outcomes[i].value().text + "\n";
  }
  return all;
}
/// The questions that a server was asked about.
std::set<std::string> questions_at(const FaultServer& server) {
  std::set<std::string> found;
  for (const auto& request : server.received())
    if (const auto at = request.body.find("question "); at != std::string::npos)
      found.insert(request.body.substr(at, request.body.find('.', at) - at));
  return found;
}

}  // namespace

TEST_CASE("a question's prompts all go to the server that the rendezvous says") {
  FaultServer a(echoes()), b(echoes());
  OpenAi model(at({&a, &b}, {2}, {.max_in_flight = 1}));  // there is always room
  answers(model, prompts(20, 5));
  for (std::uint64_t q = 1; q <= 20; ++q) {
    const auto& replicas = model.fleet()->replicas();
    const bool first = HttpFleet::rendezvous(replicas[0], mix64(q)) > HttpFleet::rendezvous(replicas[1], mix64(q));
    CHECK(questions_at(a).contains("question " + std::to_string(q)) == first);
    CHECK(questions_at(b).contains("question " + std::to_string(q)) != first);
  }
  CHECK(model.fleet()->figures(0).requests == a.received().size());
  CHECK(model.fleet()->figures(1).requests == b.received().size());
}

TEST_CASE("answers are the same bytes whatever the servers, their weights and their faults") {
  const auto asked = prompts(12, 8);
  FaultServer alone(echoes());
  OpenAi one(at({&alone}));
  const std::string calm = answers(one, asked);
  const auto faulty = [](const Received& request, std::size_t number) -> Answer {
    switch (mix64(number) % 8) {
      case 0:
        return {.status = 500};
      case 1:
        return {.status = 429, .headers = "retry-after-ms: 2\r\n"};
      case 2:
        return {.fault = Fault::close};
      case 3:
        return {.body = "{", .status = 200};
      case 4: {
        Answer half = echo(request);
        half.fault = Fault::reset;
        return half;
      }
      default:
        return echo(request);
    }
  };
  FaultServer a(faulty), b(echoes()), c(faulty);
  OpenAi three(at({&a, &b, &c}, {3, 0.5}));
  CHECK(answers(three, asked) == calm);
  for (const std::size_t in_flight : {1, 32}) {
    OpenAi faulty_one(at({&a}, {}, {.max_in_flight = in_flight}));
    CHECK(answers(faulty_one, asked) == calm);
  }
  CHECK(one.fingerprint() == three.fingerprint());
}

TEST_CASE("requests of a server that is down go to the others, at once and uncounted") {
  FaultServer good(echoes());
  OpenAiOptions options = at({&good});
  options.endpoints.push_back(FaultServer::refusing_url() + "/v1");
  options.http.max_attempts = 1;
  options.http.backoff_s = options.http.backoff_limit_s =
      20;  // no second try in this test's time, and no wait before a move
  OpenAi model(options);
  answers(model, prompts(20, 3));
  CHECK(good.received().size() == 60);
  CHECK(model.fleet()->figures(1).rests == 1);
  CHECK(model.fleet()->figures(1).failures > 0);
  CHECK(model.accounts().requests == 60 + model.fleet()->figures(1).requests);
}

TEST_CASE("a resting server is tried again by one request, which moves on if that fails, and comes back") {
  std::atomic<bool> ill = true;
  FaultServer a(echoes()),
      b([&](const Received& request, std::size_t) { return ill ? Answer{.status = 502} : echo(request); });
  OpenAi model(at({&a, &b}));
  std::uint32_t number = 0;
  const auto ask_until = [&](auto done) {
    for (; !done() && number < 3000; ++number)
      for (std::uint64_t q = 1; q <= 8; ++q) answers(model, {about(q, number)});
    CHECK(done());
  };
  ask_until([&] { return model.fleet()->resting(1); });
  const auto asked_before = model.fleet()->figures(1).requests;
  ask_until([&] { return model.fleet()->figures(1).requests >= asked_before + 2; });
  CHECK(model.fleet()->resting(1));
  ill = false;
  ask_until([&] { return !model.fleet()->resting(1); });
  const auto before = model.fleet()->figures(1).requests;
  ask_until([&] { return model.fleet()->figures(1).requests > before; });
  CHECK(model.fleet()->figures(1).rests == 1);
}

TEST_CASE("where all servers are down, requests fail as they do with one") {
  const std::string one = FaultServer::refusing_url() + "/v1", other = FaultServer::refusing_url() + "/v1";
  OpenAi model(test::served_at<OpenAiOptions>(one, {.endpoints = {other}, .http = {.max_attempts = 3}}));
  for (const auto& outcome : test::ask(model, prompts(5, 1))) {
    const auto failure = test::failure_of(outcome);
    CHECK(failure.kind == Kind::transport);
    CHECK(test::holds(failure.message, "given up after attempt 3"));
  }
}

TEST_CASE("a permanent failure is one, whatever other servers there are") {
  FaultServer a(Answer{.status = 400}), b(Answer{.status = 400});
  OpenAi model(at({&a, &b}));
  CHECK(test::failure_of(test::ask(model, {about(1, 0)})[0]).kind == Kind::permanent);
  CHECK(a.received().size() + b.received().size() == 1);
}

TEST_CASE("an overloaded server gets fewer requests at once") {
  FaultServer server(
      [](const Received& request, std::size_t number) { return number < 64 ? Answer{.status = 429} : echo(request); });
  OpenAi model(at({&server}, {}, {.max_in_flight = 32}));
  CHECK(model.fleet()->window(0).width() == 32);
  std::vector<Prompt> asked = prompts(32, 1);
  for (std::size_t i = 0; i < asked.size(); ++i) model.submit(i, asked[i]);
  std::size_t done = 0, narrowest = 32;
  while (done < asked.size()) {
    done += model.poll(std::chrono::seconds(1)).size();
    narrowest = std::min(narrowest, model.fleet()->window(0).width());
  }
  CHECK(narrowest <= 16);
  CHECK(narrowest >= 1);
  CHECK(server.received().size() == 64 + 32);
}

TEST_CASE("requests wait in line while windows are narrow, and all arrive") {
  FaultServer server([](const Received& request, std::size_t number) -> Answer {
    return number < 12 ? Answer{.status = 503} : echo(request);
  });
  OpenAi model(at({&server}, {}, {.max_in_flight = 4}));
  answers(model, prompts(40, 1));
  CHECK(model.fleet()->window(0).under_way() == 0);
  CHECK(model.fleet()->figures(0).failures == 12);
}

TEST_CASE("a client with several servers may be destroyed in every state") {
  FaultServer a([](const Received&, std::size_t number) {
    return number % 2 ? Answer{.status = 503} : Answer{.fault = Fault::stall};
  }),
      b(echoes());
  OpenAiOptions options = at({&a, &b});
  options.endpoints.push_back(FaultServer::refusing_url());
  options.http.max_in_flight = 8;
  OpenAi model(options);
  const auto asked = prompts(60, 1);
  for (std::size_t i = 0; i < asked.size(); ++i) model.submit(i, asked[i]);
  while (a.received().size() < 4) (void)model.poll(std::chrono::milliseconds(5));
}

TEST_CASE("equal greedy prompts of several questions are asked once, sampled ones only under one seed") {
  FaultServer a(echoes()), b(echoes());
  const auto asked = [&](double temperature, std::uint64_t seed_of_second) {
    Scheduler scheduler;
    const ModelPort model =
        scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::make_unique<OpenAi>(at({&a, &b}))));
    std::vector<Task<Completion>> tasks;
    for (const std::uint64_t question : {1, 2}) {
      PromptBody body;
      body.messages = {{"user", "question 1.0"}};
      body.sampling.temperature = temperature;
      body.affinity = question;
      tasks.push_back(
          model.ask(Prompt(std::make_shared<const PromptBody>(body), question == 1 ? 1 : seed_of_second, 0)));
    }
    for (const auto& completion : scheduler.run(std::move(tasks))) CHECK(completion.text == "question 1.0");
    CHECK(model.accounts().logical == 2);
    return model.accounts().shared;
  };
  CHECK(asked(0, 2) == 1);
  CHECK(asked(0.7, 1) == 1);
  CHECK(a.received().size() + b.received().size() == 2);
  CHECK(asked(0.7, 2) == 0);
  CHECK(a.received().size() + b.received().size() == 4);
}

}  // namespace http_replicas_test
