#include <espalier/backend/http/options.hpp>
#include <espalier/backend/openai.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace http_watch_test {

using namespace espalier::test::names;

namespace {

constexpr std::chrono::seconds s{1};
const HttpWatch::Time start{};

/// A watch, and what it has said.
struct Watched {
  explicit Watched(double deadline_s)
      : watch(std::make_shared<HttpWatch>(deadline_s, [this](const std::string& what) { said.push_back(what); })) {}
  std::vector<std::string> said;
  std::shared_ptr<HttpWatch> watch;
};
std::string reply(const std::string& text) {
  return R"({"choices":[{"message":{"content":")" + text + R"("},"finish_reason":"stop"}]})";
}

}  // namespace

TEST_CASE("a server that does not reply is spoken of once, with its last failure, until it replies") {
  Watched w(600);
  w.watch->sent("a", start);
  w.watch->failed("a", "POST a: refused", start + 1 * s);
  w.watch->sent("a", start + 2 * s);
  w.watch->look(start + 29 * s);
  CHECK(w.said.empty());
  CHECK(w.watch->trouble() == "");
  w.watch->failed("a", "POST a: HTTP 503", start + 29 * s);
  w.watch->look(start + 30 * s);
  w.watch->look(start + 300 * s);
  CHECK(w.said == std::vector<std::string>{"no reply for 30 s: POST a: HTTP 503"});
  CHECK(w.watch->trouble() == w.said[0]);
  w.watch->replied("a");
  CHECK(w.watch->trouble() == "");
}

TEST_CASE("the first reply is waited for from the first message on, later ones from the first failure on") {
  Watched w(600);
  w.watch->sent("silent", start);
  w.watch->sent("slow", start);
  w.watch->replied("slow");
  w.watch->sent("slow", start);
  w.watch->look(start + 40 * s);
  CHECK(w.said == std::vector<std::string>{"no reply for 30 s: silent"});
  w.watch->failed("slow", "POST slow: reset", start + 50 * s);
  w.watch->look(start + 79 * s);
  CHECK(w.said.size() == 1);
  w.watch->look(start + 80 * s);
  REQUIRE(w.said.size() == 2);
  CHECK(w.said[1] == "no reply for 30 s: POST slow: reset");
  w.watch->replied("slow");
  w.watch->failed("slow", "POST slow: reset", start + 81 * s);
  w.watch->look(start + 110 * s);
  CHECK(w.watch->trouble() == "no reply for 30 s: silent");
}

TEST_CASE("remarks are said at once, one a server") {
  Watched w(600);
  w.watch->remark("a", "counts oddly");
  w.watch->remark("a", "counts very oddly");
  w.watch->remark("b", "counts oddly");
  CHECK(w.said == std::vector<std::string>{"a: counts oddly", "b: counts oddly"});
  CHECK(w.watch->remarks().size() == 2);
}

TEST_CASE("a client says that nobody listens while it retries, and takes it back when the server has come") {
  Watched w(4);
  int status = 503;
  FaultServer server([&](const Received&, std::size_t) {
    return status == 503 ? Answer{.body = R"({"error":"Loading model"})", .status = 503}
                         : Answer{.body = reply("good")};
  });
  OpenAi model(test::served_at<OpenAiOptions>(
      server.url("/v1"),
      {.server = std::nullopt, .http = {.watch = w.watch}}));  // the question what it is fails as well
  model.submit(1, Prompt("q"));
  const auto begin = std::chrono::steady_clock::now();
  while (w.said.empty()) CHECK(model.poll(std::chrono::milliseconds(10)).empty());
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(200));
  CHECK(w.said ==
        std::vector<std::string>{"no reply for 0.2 s: GET " + server.url("/v1/models") + ": HTTP 503: Loading model"});
  status = 200;
  while (model.poll(std::chrono::milliseconds(10)).empty()) {
  }
  CHECK(w.watch->trouble() == "");
  CHECK(w.said.size() == 1);
}

TEST_CASE("a dead server is named, and one that refuses has replied") {
  Watched dead(2), refuses(2);
  auto options = test::served_at<OpenAiOptions>(FaultServer::refusing_url() + "/v1");
  options.http.watch = dead.watch;
  options.http.deadline_s = 3;
  OpenAi nobody(options);
  CHECK(!test::ask(nobody, {Prompt("q")})[0].ok());
  REQUIRE(dead.said.size() == 1);
  CHECK(dead.said[0].find("no reply for 0.1 s: POST " + options.url + "/chat/completions: ") == 0);
  FaultServer server(
      [](const Received&, std::size_t number) { return Answer{.body = "no", .status = number < 3 ? 401 : 500}; });
  options.url = server.url("/v1");
  options.http.watch = refuses.watch;
  OpenAi strict(options);
  for (int i = 0; i < 3; ++i) CHECK(!test::ask(strict, {Prompt("q")})[0].ok());
  CHECK(refuses.watch->trouble() == "");
}

}  // namespace http_watch_test
