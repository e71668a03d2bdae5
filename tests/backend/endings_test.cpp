#include <espalier/backend/openai.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace endings_test {

using namespace espalier::test::names;

TEST_CASE("what is an answer, and which failure is tried again, in every form of replies.txt") {
  std::ifstream file(ESPALIER_TESTS_DIR "/backend/replies.txt");
  std::size_t rows = 0;
  for (std::string expected, server, body; file >> expected;) {
    int status = 0;
    if (expected == "#") std::getline(file, body);
    if (expected == "#" || !(file >> server >> status) || !std::getline(file, body)) continue;
    CAPTURE(server + body);
    for (std::size_t at = 0; (at = body.find("\\n", at)) != std::string::npos;) body.replace(at, 2, "\n");
    const OpenAiOptions asked{.server = server_named(server.substr(0, server.find('/'))),
                              .stream = test::holds(server, "/")};
    const auto got = test::exchange<OpenAi>(asked, "/v1", std::vector{Prompt("q")}, body.substr(1), status).outcome();
    const auto failure = test::failure_of(got);
    const bool again = failure.kind == BackendError::Kind::transport;
    CHECK(expected == (got.ok() ? Completion::finishes[int(got.value().finish)] : again ? "again" : "final"));
    CHECK((got.ok() || !test::holds(body, "upstream") || test::holds(failure.message, "upstream")));
    CHECK_FALSE((got.ok() && test::holds(got.value().text, "127.0.0.1")));  // no address in a tree
    ++rows;
  }
  CHECK(rows > 500);
}

TEST_CASE("of several choices those that are answers are kept, and the others are asked again alone") {
  const std::string one = R"({"choices":[{"index":0,"text":"a","finish_reason":"stop"})";
  const std::string two = one + R"(,{"index":1,"text":"b","finish_reason":"abort"}]})";
  FaultServer server([&](const auto&, std::size_t number) { return Answer{.body = number == 0 ? two : one + "]}"}; });
  OpenAi model(test::served_at<OpenAiOptions>(server.url("/v1"), {.server = Server::vllm}));
  const auto asked = test::body({{"user", "q"}}, {.temperature = 1});
  CHECK(test::ask(model, {Prompt(asked, 3, 0), Prompt(asked, 3, 1)})[1].ok());
  CHECK(test::holds(server.received().at(1).body, R"("seed":4)"));
}

TEST_CASE("an ending that the options name is one of an answer, if there is a text") {
  const auto got = [](const std::string& text, const std::string& ending, const std::string& named) {
    const std::string body = R"({"choices":[{"text":")" + text + R"(","finish_reason":")" + ending +
                             R"("}],"usage":{"prompt_tokens":5,"completion_tokens":0}})";
    return test::exchange<OpenAi>(OpenAiOptions{.finish_reasons = named}, "/v1", std::vector{Prompt("q")}, body);
  };
  CHECK(got("a", "paused", "timed_out,paused").outcome().value().finish == Completion::Finish::stop);
  CHECK(got("a", "timed_out", "timed_out,paused").outcome().ok());
  CHECK_FALSE(got("a", "Paused", "timed_out,paused").outcome().ok());
  CHECK_FALSE(got("a", "paused", "").outcome().ok());
  CHECK_FALSE(got("", "paused", "paused").outcome().ok());
  const auto named = [](const std::string& names) { return OpenAi({.model = "m", .finish_reasons = names}); };
  CHECK(named("").fingerprint() != named("paused").fingerprint());
  for (const char* bad : {"a, b", "a;b", "'a'"})
    CHECK_THROWS_WITH_AS(named(bad), doctest::Contains("'finish_reasons'"), std::invalid_argument);
}

TEST_CASE("damage is final when it comes the third time in a row, a failure of the server never is") {
  using Texts = std::vector<std::string>;
  const auto attempts = [](const Texts& bodies) {  // the last one for ever
    FaultServer server(
        [&](const auto&, std::size_t i) { return Answer{.body = bodies[std::min(i, bodies.size() - 1)]}; });
    OpenAi model(test::served_at<OpenAiOptions>(server.url("/v1"), {.stream = bodies[0].starts_with("data:")}));
    const std::string why = test::failure_of(test::ask(model, {Prompt("q")})[0]).message;
    CHECK((why.empty() || test::holds(why, "(three times in a row)")));
    return server.received().size();
  };
  const std::string html = "<html>sign in</html>", one = R"({"choices":[{"text":"a","finish_reason":")";
  const std::string good = one + "stop\"}]}", abort = one + "abort\"}]}";
  const std::string cut = "data: {\"choices\":[{\"delta\":{\"content\":\"The River Te\n\ndata: [DONE]\n\n";
  for (const std::string& damage : Texts{html, "{}", "{\"choices\":[", "", cut}) CHECK(attempts({damage}) == 3);
  CHECK(attempts({html, html, "{}", html, html, good}) == 6);
  CHECK(attempts({abort, abort, abort, abort, abort, abort, abort, abort, good}) == 9);
}

TEST_CASE("a character that was cut between two chunks is whole, and what stays broken is U+FFFD and counted") {
  const auto text = [](const std::string& first, const std::string& second, std::uint64_t replaced, std::size_t asked) {
    FaultServer server(Answer{.body = R"(data: {"choices":[{"delta":{"content":")" + first + "\"}}]}\n\n" +
                                      R"(data: {"choices":[{"delta":{"content":")" + second +
                                      "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"});
    OpenAi model(test::served_at<OpenAiOptions>(server.url("/v1"), {.stream = true}));
    const std::string got = test::ask(model, {Prompt("q")})[0].value().text;
    CHECK(server.received().size() == asked);
    CHECK(model.accounts().replaced == replaced);
    return got;
  };
  const std::string smile = "\xF0\x9F\x98\x80", bad = "\xEF\xBF\xBD";
  CHECK(text("a\xF0\x9F", "\x98\x80z", 0, 1) == "a" + smile + "z");
  CHECK(text("a\\ud83d", "\\ude00z", 0, 1) == "a" + smile + "z");
  CHECK(text("a\xF0\x9F", "z", 2, 3) == "a" + bad + bad + "z");
  CHECK(text("a\\ud83d", "z\\ude00\\n", 2, 3) == "a" + bad + "z" + bad + "\n");
}

}  // namespace endings_test
