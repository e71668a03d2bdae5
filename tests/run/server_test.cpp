#include <espalier/backend/openai.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/run/run.hpp>

#include "../backend/fault_server.hpp"
#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <atomic>
#include <map>

namespace server_test {

using namespace espalier;
using test::Answer;
using test::FaultServer;
using test::Received;
using test::TemporaryFolder;

namespace {

/// A number that follows from the request alone.
std::uint64_t number_of(const std::string& body) { return Hasher().add(body).finish().low; }

/// A readable reply to any purpose of DecEx-RAG, as the request's bytes decide.
std::string reply_to(const std::string& body) {
  const std::uint64_t n = number_of(body);
  if (body.find("one query for a search engine") != std::string::npos) return "town number " + std::to_string(n % 3);
  const std::string question = "<question>Where is town " + std::to_string(n % 4) + "?</question>";
  const std::string answer = "hm <answer>town " + std::to_string(n % 5) + "</answer>";
  return n % 3 == 0 ? question + answer : answer + question;
}
Answer chat(const std::string& text) {
  std::string content;
  append_json_string(content, text);
  return {.body = R"({"choices":[{"index":0,"message":{"content":)" + content +
                  R"(},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}})"};
}

/// What an SGLang server says to a client that asks what it is.
const Answer models{.body = R"({"object":"list","data":[{"id":"m","object":"model","owned_by":"sglang"}]})"};

/// Four questions whose gold answers and gold chains stand nowhere else, and a few passages.
class Files {
 public:
  Files() {
    std::string questions, corpus;
    for (int i = 0; i < 4; ++i) {
      const std::string n = std::to_string(i);
      questions +=
          R"({"id":"q)" + n + R"(","question":"Which town lies north of number )" + n +
          R"(?","golden_answers":["secret town )" + n +
          R"("],"metadata":{"type":"secret","supporting_titles":["secret title"],"decomposition":[{"question":"secret step","answer":"secret )" +
          n + "\"}]}}\n";
      corpus += R"({"id":"p)" + n + R"(","title":"Town )" + n + R"(","contents":"Town )" + n + R"(\nTown number )" + n +
                " lies north of the other.\"}\n";
    }
    test::write_bytes(folder_ / "questions.jsonl", questions);
    test::write_bytes(folder_ / "corpus.jsonl", corpus);
  }
  [[nodiscard]] run::Settings settings(const FaultServer& server, const std::string& out) const {
    run::Settings s;
    s.questions = folder_ / "questions.jsonl";
    s.retriever.corpus = folder_ / "corpus.jsonl";
    s.model.url = server.url("/v1");
    s.model.name = "m";
    s.output.folder = folder_ / out;
    s.execution.in_flight = 8;
    s.set = {{"n", "2"}, {"T_max", "2"}};
    return s;
  }
  [[nodiscard]] std::string content(const std::string& name) const { return test::read_bytes(folder_ / name); }

 private:
  TemporaryFolder folder_;
};

run::RunResult run_job(run::Settings settings) {
  run::Run job(std::move(settings));
  return job();
}

}  // namespace

TEST_CASE(
    "what a failing server left open is finished by the next run, in the same bytes, and no reply is paid for twice") {
  const Files files;
  std::atomic<bool> failing = true;
  std::map<std::string, int> paid;
  int asked = 0;
  FaultServer flaky([&](const Received& request, std::size_t) {
    if (request.path == "/v1/models") ++asked;
    if (request.path == "/v1/models") return models;
    if (failing && number_of(request.body) % 40 == 0) return Answer{.body = "overloaded", .status = 503};
    ++paid[request.body];
    return chat(reply_to(request.body));
  });
  FaultServer steady([](const Received& request, std::size_t) {
    return request.path == "/v1/models" ? models : chat(reply_to(request.body));
  });

  CHECK(run_job(files.settings(steady, "whole")).open == 0);
  auto settings = files.settings(flaky, "broken");
  settings.servers.attempts = 1;
  const run::RunResult first = run_job(settings);
  CHECK(first.open > 0);
  const std::string answers = files.content("broken/answers.jsonl");
  CHECK(std::count(answers.begin(), answers.end(), '\n') == 4);  // no question is lost
  CHECK(answers.find("\"status\":\"open\",\"error\":\"") != std::string::npos);
  CHECK(answers.find("503") != std::string::npos);
  CHECK(first.summary.find("\"open\":" + std::to_string(first.open)) != std::string::npos);
  failing = false;
  CHECK(run_job(settings).open == 0);
  for (const char* file : {"/trees.jsonl", "/answers.jsonl", "/sft.jsonl", "/dpo.jsonl"})
    CHECK(files.content(std::string("broken") + file) == files.content(std::string("whole") + file));
  for (const auto& [body, times] : paid) CHECK(times == 1);
  CHECK(asked == 1);  // the second run knows from servers.json
  CHECK(files.content("broken/servers.json").find("\"sglang\"}") != std::string::npos);
}

TEST_CASE("a gold answer never reaches a model, neither where it steers the search nor where nobody may know it") {
  const Files files;
  FaultServer server([&](const Received& request, std::size_t) { return chat(reply_to(request.body)); });
  auto settings = files.settings(server, "expand");
  CHECK(run_job(settings).open == 0);
  CHECK(files.content("expand/trees.jsonl").find("secret town") != std::string::npos);  // the record knows it
  settings.task = run::Settings::Task::answer;
  for (const char* inference : {"policy", "expansion"}) {
    settings.output.folder = settings.output.folder.substr(0, settings.output.folder.rfind('/')) + "/" + inference;
    settings.set.emplace_back("inference", inference);
    CHECK(run_job(settings).open == 0);
    for (const char* file : {"/trees.jsonl", "/answers.jsonl", "/report.html"})
      CHECK(files.content(inference + std::string(file)).find("secret") == std::string::npos);
  }
  const auto received = server.received();
  CHECK(received.size() > 50);
  for (const Received& request : received) CHECK(request.body.find("secret") == std::string::npos);
}

}  // namespace server_test
