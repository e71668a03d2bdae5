#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/options.hpp>
#include <espalier/backend/http_retriever.hpp>
#include <espalier/backend/openai.hpp>
#include <espalier/llm/scheduler.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace http_fleet_test {

using namespace espalier::detail;
using namespace espalier::test::names;
using Time = HttpFleet::Time;
using Kind = BackendError::Kind;

namespace {

constexpr Time start{};
Time after(double seconds) {
  return start + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

HttpFleet fleet_of(std::vector<Replica> replicas, std::size_t in_flight = 64) {
  return {std::move(replicas), HttpOptions{.max_in_flight = in_flight}};
}

/// A message goes to a server and ends there at once.
void serve(HttpFleet& fleet, std::size_t server, Served served, double seconds = 1,
           std::optional<double> pause = std::nullopt, Time now = start) {
  const std::uint64_t number = fleet.begin(server);
  fleet.end(server);
  fleet.judge(server, number, served, seconds, pause, now);
}

}  // namespace

TEST_CASE("an address may carry a weight behind a star, and stands once in a fleet") {
  CHECK(read_replica("http://a:1/v1").url == "http://a:1/v1");
  CHECK(read_replica("http://a:1/v1").weight == 1);
  CHECK(read_replica("http://a:1/v1*2.5").url == "http://a:1/v1");
  CHECK(read_replica("http://a:1/v1*2.5").weight == 2.5);
  for (const char* bad :
       {"http://a*", "http://a*x", "http://a*0", "http://a*-1", "http://a*1e9", "http://a*nan", "http://a*2 "})
    CHECK_THROWS_WITH_AS(read_replica(bad), doctest::Contains("'endpoint'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(fleet_of({{"http://a"}, {"http://a", 2}}), doctest::Contains("'endpoint' is http://a"),
                       std::invalid_argument);
}

TEST_CASE("an address is shown without secrets") {
  CHECK(shown_address("http://a:1/v1") == "http://a:1/v1");
  CHECK(shown_address("https://me:pa@ss@a/v1?key=1#x") == "https://a/v1");
  CHECK(shown_address("http://a/v1/@home") == "http://a/v1/@home");
  CHECK(shown_address("http://me@a") == "http://a");
}

TEST_CASE("an address is a scorer's by its path, whatever follows it") {
  for (const char* url :
       {"http://a/classify", "https://me:pw@a/v1/pooling", "http://a/pooling?key=1", "http://a/classify#x"})
    CHECK(is_scorer(url));
  for (const char* url : {"http://a/v1", "http://a/v1?next=/classify", "http://a/classify/", "http://a/v1#/pooling"})
    CHECK(!is_scorer(url));
}

TEST_CASE("a window grows by one a window of good replies while it is full, and halves once for what was under way") {
  HttpWindow window(4, 6);
  CHECK(window.width() == 4);
  const auto first = window.begin();
  window.end();
  window.widen();
  CHECK(window.width() == 4);  // it was not full
  const auto round = [&](bool good) {
    std::vector<std::uint64_t> numbers;
    while (window.room()) numbers.push_back(window.begin());
    for (const auto number : numbers) {
      window.end();
      good ? window.widen() : window.narrow(number);
      if (good) window.begin();
    }
    for (std::size_t i = 0; good && i < numbers.size(); ++i) window.end();
    return window.width();
  };
  CHECK(round(true) == 4);  // 4 + 1/4 + 1/4.25 + 1/4.49 + 1/4.71 = 4.92
  CHECK(round(true) == 5);
  for (int i = 0; i < 20; ++i) round(true);
  CHECK(window.width() == 6);
  CHECK(round(false) == 3);
  CHECK(round(false) == 1);
  CHECK(round(false) == 1);
  window.narrow(first);
  CHECK(window.width() == 1);
}

TEST_CASE("a question stays with one server, and servers get questions by their weights") {
  const HttpFleet fleet = fleet_of({{"http://a", 1}, {"http://b", 3}});
  int b = 0;
  for (std::uint64_t question = 1; question <= 2000; ++question) {
    const auto chosen = fleet.choose(mix64(question), start);
    CHECK(chosen == fleet.choose(mix64(question), after(9)));
    b += chosen == 1U;
    const bool expected = HttpFleet::rendezvous(fleet.replicas()[1], mix64(question)) >
                          HttpFleet::rendezvous(fleet.replicas()[0], mix64(question));
    CHECK((chosen == 1U) == expected);
  }
  CHECK(b == doctest::Approx(1500).epsilon(0.05));
}

TEST_CASE("one server more takes its share from all others and moves nothing else") {
  const HttpFleet two = fleet_of({{"http://a"}, {"http://b"}});
  const HttpFleet three = fleet_of({{"http://c"}, {"http://b"}, {"http://a"}});
  int moved = 0;
  for (std::uint64_t question = 1; question <= 3000; ++question) {
    const auto& before = two.replicas()[*two.choose(question, start)].url;
    const auto& now = three.replicas()[*three.choose(question, start)].url;
    moved += now == "http://c";
    CHECK((now == before || now == "http://c"));
  }
  CHECK(moved == doctest::Approx(1000).epsilon(0.1));
}

TEST_CASE("where the question's server is full, the next one takes the message") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}, {"http://c"}}, 4);  // windows of ceil(1.25 * 4 / 3) = 2
  const std::size_t first = *fleet.choose(7, start);
  fleet.begin(first);
  CHECK(fleet.choose(7, start) == first);
  fleet.begin(first);
  const std::size_t second = *fleet.choose(7, start);
  CHECK(second != first);
  CHECK(fleet.choose(7, start, first) == second);
  fleet.begin(second);
  fleet.begin(second);
  const std::size_t third = *fleet.choose(7, start);
  CHECK(third == 3 - first - second);
  fleet.begin(third);
  fleet.begin(third);
  CHECK(!fleet.choose(7, start));
  fleet.end(first);
  CHECK(fleet.choose(7, start) == first);
  CHECK(fleet.choose(7, start, first) == first);  // better than none
}

TEST_CASE("messages without affinity go where the load is least for the weight") {
  HttpFleet fleet = fleet_of({{"http://a", 1}, {"http://b", 2}});
  std::vector<std::size_t> taken;
  for (int i = 0; i < 6; ++i) {
    taken.push_back(*fleet.choose(0, start));
    fleet.begin(taken.back());
  }
  CHECK(taken == std::vector<std::size_t>{1, 0, 1, 1, 0, 1});
}

TEST_CASE("a server out of reach rests at once, one that fails rests after three times in succession") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});
  serve(fleet, 0, Served::unreachable);
  CHECK(!fleet.up(0, start));
  for (std::uint64_t question = 1; question < 50; ++question) CHECK(fleet.choose(question, start) == 1U);
  serve(fleet, 0, Served::good);
  CHECK(fleet.up(0, start));
  for (const Served first : {Served::good, Served::refused}) {
    serve(fleet, 0, Served::broken);
    serve(fleet, 0, Served::stalled);
    serve(fleet, 0, first);
  }
  serve(fleet, 0, Served::broken);
  serve(fleet, 0, Served::broken);
  serve(fleet, 0, Served::busy);
  CHECK(fleet.up(0, start));
  serve(fleet, 0, Served::broken);
  CHECK(!fleet.up(0, start));
  CHECK(fleet.figures(0).rests == 2);
  CHECK(fleet.figures(0).failures == 9);
  serve(fleet, 1, Served::unreachable);
  for (std::uint64_t question = 1; question < 50; ++question) CHECK(fleet.choose(question, start));  // better than none
  HttpFleet alone = fleet_of({{"http://a"}});                                                        // never rests
  for (int i = 0; i < 9; ++i) serve(alone, 0, Served::unreachable);
  CHECK(alone.choose(1, start) == 0U);
  CHECK(alone.window(0).width() == 64);
}

TEST_CASE("a rest ends with one message, is doubled if that fails too, and is over with a reply") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});          // rests of 0.5 s to 30 s
  for (int i = 0; i < 3; ++i) serve(fleet, 0, Served::unreachable);  // they failed together: one rest
  CHECK(!fleet.up(0, after(0.4)));
  CHECK(fleet.up(0, after(0.5)));
  const std::uint64_t number = fleet.begin(0);
  CHECK(!fleet.up(0, after(0.6)));
  fleet.end(0);
  fleet.judge(0, number, Served::unreachable, 1, std::nullopt, after(0.6));
  CHECK(!fleet.up(0, after(1.5)));
  CHECK(fleet.up(0, after(1.6)));
  for (int i = 0; i < 9; ++i) serve(fleet, 0, Served::stalled, 1, std::nullopt, after(100 * (i + 1)));
  CHECK(!fleet.up(0, after(929)));
  CHECK(fleet.up(0, after(930)));
  CHECK(fleet.resting(0));
  CHECK(fleet.figures(0).rests == 1);
  serve(fleet, 0, Served::good, 1, std::nullopt, after(930));
  CHECK(!fleet.resting(0));
}

TEST_CASE("a server that is to show that it is back counts as none beside others") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});
  for (int i = 0; i < 40; ++i) serve(fleet, 0, Served::good, 1), serve(fleet, 1, Served::good, 1);
  serve(fleet, 0, Served::unreachable);
  CHECK(fleet.up(0, after(0.5)));
  CHECK(!fleet.other_up(1, after(0.5)));
  CHECK(fleet.other_up(0, after(0.5)));
  for (int i = 0; i < 40; ++i) serve(fleet, 1, Served::good, 4, std::nullopt, after(1));  // it has all the work now
  CHECK(fleet.window(1).width() == 40);
}

TEST_CASE("a server that asks for a pause gets it, others stand in") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});
  serve(fleet, 0, Served::busy, 1, 5);
  CHECK(!fleet.up(0, after(4.9)));
  CHECK(fleet.up(0, after(5)));
  CHECK(!fleet.resting(0));
  for (std::uint64_t question = 1; question < 50; ++question) CHECK(fleet.choose(question, after(4)) == 1U);
}

TEST_CASE("overload halves a server's window, down to one, and good replies widen it again") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}}, 64);
  CHECK(fleet.window(0).width() == 40);
  serve(fleet, 0, Served::busy);
  CHECK(fleet.window(0).width() == 20);
  for (int i = 0; i < 9; ++i) serve(fleet, 0, Served::busy);
  CHECK(fleet.window(0).width() == 1);
  for (int i = 0; i < 4; ++i) serve(fleet, 0, Served::good);
  CHECK(fleet.window(0).width() == 2);
  CHECK(fleet.window(1).width() == 40);
}

TEST_CASE(
    "a server whose latency grows beside the others' has its window narrowed; one that shares the growth has not") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}, {"http://c"}}, 30);
  const auto rounds = [&](int count, double a, double b, double c) {
    for (int i = 0; i < count; ++i)
      serve(fleet, 0, Served::good, a), serve(fleet, 1, Served::good, b), serve(fleet, 2, Served::good, c);
  };
  rounds(40, 1, 1, 5);  // slow from the start: that is its nature
  rounds(40, 4, 4, 20);
  for (std::size_t i = 0; i < 3; ++i) CHECK(fleet.window(i).width() == 13);
  rounds(4, 4, 50, 20);
  CHECK(fleet.window(0).width() == 13);
  CHECK(fleet.window(1).width() < 13);
  CHECK(fleet.window(2).width() == 13);
}

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
  return test::of_question(mix64(question), "question " + std::to_string(question) + "." + std::to_string(number));
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
        return {.body = R"({"error":{"message":"overloaded"}})"};  // the same damage three times would be final
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

TEST_CASE("an overloaded server gets fewer requests at once, which wait in line, and all arrive") {
  FaultServer server([](const Received& request, std::size_t number) {
    return number < 64 ? Answer{.status = number % 2 ? 429 : 503} : echo(request);
  });
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
  CHECK(model.fleet()->window(0).under_way() == 0);
  CHECK(model.fleet()->figures(0).failures == 64);
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
  std::size_t answered = 0;  // where few questions fall to `a`, it holds few and the others are answered
  while (a.received().size() < 4 && answered < 40) answered += model.poll(std::chrono::milliseconds(5)).size();
}

TEST_CASE("equal greedy prompts of several questions are asked once, sampled ones only under one seed") {
  FaultServer a(echoes()), b(echoes());
  const auto asked = [&](double temperature, std::uint64_t seed_of_second) {
    Scheduler scheduler;
    const ModelPort model =
        scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::make_unique<OpenAi>(at({&a, &b}))));
    std::vector<Task<Completion>> tasks;
    tasks.push_back(model.ask(test::of_question(1, "question 1.0", temperature)));
    tasks.push_back(model.ask(test::of_question(2, "question 1.0", temperature, seed_of_second)));
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

namespace {

constexpr std::chrono::seconds s{1};

/// A watch, and what it has said.
struct Watched {
  std::vector<std::string> said{};
  std::shared_ptr<HttpWatch> watch =
      std::make_shared<HttpWatch>(600, [this](const std::string& what) { said.push_back(what); });
};
std::string reply(const std::string& text) {
  return R"({"choices":[{"message":{"content":")" + text + R"("},"finish_reason":"stop"}]})";
}

}  // namespace

TEST_CASE("the first reply is waited for from the first message on, later ones from the first failure on") {
  Watched w;
  w.watch->sent("silent", start);
  w.watch->sent("slow", start);
  w.watch->replied("slow");
  w.watch->sent("slow", start);
  w.watch->look(start + 40 * s);
  CHECK(w.said == std::vector<std::string>{"no good reply for 30 s: silent"});
  w.watch->failed("slow", "POST slow: reset", start + 50 * s);
  w.watch->look(start + 79 * s);
  CHECK(w.said.size() == 1);
  w.watch->look(start + 80 * s);
  REQUIRE(w.said.size() == 2);
  CHECK(w.said[1] == "no good reply for 30 s: POST slow: reset");
  w.watch->replied("slow");
  w.watch->failed("slow", "POST slow: reset", start + 81 * s);
  w.watch->look(start + 110 * s);
  CHECK(w.watch->trouble() == "no good reply for 30 s: silent");
}

TEST_CASE("one living server beside a silent, dead or broken one is enough") {
  const FaultServer silent(Answer{.fault = Fault::stall}), broken(Answer{.status = 502}),
      alive(Answer{.body = reply("good")});
  for (const std::string& other : {silent.url(), FaultServer::refusing_url(), broken.url()}) {
    Watched w;
    auto options = test::served_at<OpenAiOptions>(
        other + "/v1", {.endpoints = {alive.url("/v1")}, .server = std::nullopt, .http = {.watch = w.watch}});
    options.http.timeout_s = 0.2;
    OpenAi model(options);
    for (const auto& outcome : test::ask(model, std::vector<Prompt>(4, Prompt("q")))) CHECK(outcome.ok());
  }
}

TEST_CASE("a run that gives up a server asks nothing more, and takes what is under way at others") {
  Watched w;
  FaultServer alive(Answer{.body = reply("good"), .delay = std::chrono::milliseconds(100)});
  OpenAi model(test::served_at<OpenAiOptions>(alive.url("/v1"), {.http = {.watch = w.watch}}));
  HttpRetriever dead({.url = FaultServer::refusing_url(), .name = "c", .http = test::quick({.watch = w.watch})});
  CHECK(test::ask(model, {Prompt("q")})[0].ok());
  model.submit(1, Prompt("under way"));
  (void)model.poll(std::chrono::milliseconds(0));
  const test::Failure failure = test::failure_of(test::ask(dead, {Query("q", 3)})[0]);
  CHECK(test::holds(failure.message, "(given up after attempt 3). No reply of this server was good"));
  std::vector<Reply<Completion>> replies;
  while (replies.empty()) replies = model.poll(std::chrono::seconds(1));
  CHECK(replies[0].outcome.ok());
  for (const auto& outcome : test::ask(model, std::vector<Prompt>(200, Prompt("r"))))
    CHECK(test::failure_of(outcome).message == failure.message);
  CHECK(alive.received().size() == 3);  // a question and two prompts
  w.watch->begin_anew();
  CHECK(test::ask(model, {Prompt("r")})[0].ok());
}

TEST_CASE("a reply to a prompt is the proof, not what a server says of its models") {
  const Answer good{.body = reply("good")}, cut{.body = "no", .fault = Fault::reset};
  const Answer s404{.status = 404}, s429{.status = 429}, s502{.status = 502}, s503{.status = 503};
  for (const auto& [models, prompt] : {std::pair(s502, good),
                                       {s503, good},
                                       {s429, good},
                                       {s404, good},
                                       {cut, good},
                                       {good, s502},
                                       {s404, s503},
                                       {good, Answer{.fault = Fault::close}},
                                       {good, Answer{.body = "no"}},
                                       {s502, s502}})
    for (const double wait_s : {0.0, 0.2}) {
      Watched w;
      const auto script = [&](const Received& request, std::size_t) { return request.body.empty() ? models : prompt; };
      const FaultServer one(script), other(script);
      OpenAiOptions options = wait_s > 0 ? at({&one}) : at({&one, &other});
      options.server = std::nullopt;
      options.http.wait_s = wait_s;
      options.http.watch = w.watch;
      OpenAi model(options);
      const std::string said = test::failure_of(test::ask(model, {Prompt("q")})[0]).message;
      const bool fine = prompt.body == good.body;
      CHECK(said.starts_with(fine ? "" : "POST http://127.0.0.1:"));
      CHECK(said.empty() == fine);
      CHECK(test::holds(said, prompt.body == "no" ? "(three times in a row). No reply of" : ". No reply of") != fine);
      CHECK(w.watch->given_up().has_value() != fine);
    }
}

TEST_CASE("a refusal is one, whatever other servers there are, and one of whatever is asked ends the run") {
  for (const int status : {302, 401, 404, 405, 400, 403, 422}) {
    Watched w;
    const FaultServer a(Answer{.status = status}), b(Answer{.status = status});
    OpenAi model(at({&a, &b}, {}, {.watch = w.watch}));
    CHECK(test::failure_of(test::ask(model, {about(1, 0)})[0]).kind == Kind::permanent);
    CHECK(a.received().size() + b.received().size() == 2);  // with the question who is there
    CHECK(w.watch->given_up().has_value() == std::set{302, 401, 404, 405}.contains(status));
  }
}

TEST_CASE("a watched server is asked whether it says anything before it is given time for a first answer") {
  for (const Fault fault : {Fault::none, Fault::close, Fault::stall}) {
    Watched w;
    FaultServer server([&](const Received& request, std::size_t) {
      if (request.body.empty()) return Answer{.status = 405, .fault = fault};
      return Answer{.body = R"({"result":[[]]})"};
    });
    HttpRetriever retriever({.url = server.url("/retrieve"),
                             .name = "c",
                             .http = {.timeout_s = 0.2, .backoff_s = 0.001, .watch = w.watch}});
    const std::string said = test::failure_of(test::ask(retriever, {Query("q", 3)})[0]).message;
    if (fault != Fault::stall) CHECK(said == "");
    else CHECK(said.starts_with("GET " + server.url("/retrieve: Timeout was reached")));
    CHECK(server.received().size() == (fault == Fault::none ? 2 : fault == Fault::close ? 4 : 3));
  }
}

}  // namespace http_fleet_test
