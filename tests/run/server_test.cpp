#include <espalier/backend/openai.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/run/job.hpp>

#include "../backend/fault_server.hpp"
#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
  JsonWriter(content).value(text);
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

run::RunResult run_job(run::Settings settings, const run::ProgressHook& hook = nullptr) {
  run::Job job(std::move(settings));
  return job(hook);
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
    for (const char* file : {"/trees.jsonl", "/answers.jsonl"})
      CHECK(files.content(inference + std::string(file)).find("secret") == std::string::npos);
  }
  const auto received = server.received();
  CHECK(received.size() > 50);
  for (const Received& request : received) CHECK(request.body.find("secret") == std::string::npos);
}

TEST_CASE("probes decide once which purposes are constrained, and the run keeps to it") {
  const Files files;
  std::atomic<int> free = 0, governed = 0, overloaded = 0;
  FaultServer server([&](const Received& request, std::size_t) {
    if (request.path == "/v1/models") return models;
    const bool grammar = request.body.find("\"ebnf\"") != std::string::npos;
    const bool probe =
        request.body.find("Don Quixote") != std::string::npos || request.body.find("Vienna") != std::string::npos;
    ++(grammar ? governed : free);
    if (grammar && !probe && overloaded > 0) return Answer{.body = "overloaded", .status = 503};
    const bool query = request.body.find("one query for a search engine") != std::string::npos;
    return chat(grammar || query ? reply_to(request.body) : "I <b>think</b> so.");
  });
  auto settings = files.settings(server, "auto");
  settings.servers.attempts = 1;
  overloaded = 1;
  CHECK(run_job(settings).open == 4);
  // Two probes decide, but sub_query needs no grammar. Nobody has come so far.
  CHECK(free == 6 * 2 + 8);
  const std::string record = files.content("auto/run.json");
  for (const char* purpose : {"termination", "rollout", "own_answer"})
    CHECK(record.find("sampling." + std::string(purpose) + ".constrain\":\"on\"") != std::string::npos);
  CHECK(record.find("\"sampling.sub_query.constrain\":\"off\"") != std::string::npos);
  overloaded = 0;
  const run::RunResult second = run_job(settings);
  CHECK(second.open == 0);
  CHECK(second.summary.find(
            R"("probes":{"forced_answer":{"calls":3,"prompt_tokens":27,"completion_tokens":12,"readable":1})") !=
        std::string::npos);
  CHECK(files.content("auto/trees.jsonl").find("\"sampling.rollout.constrain\":\"on\"") != std::string::npos);
  auto shard = files.settings(server, "shard");
  shard.shard = "1/2";
  CHECK_THROWS_WITH(run_job(shard), doctest::Contains("option 'constrain' is auto, allowed: off, always or draft"));
  const int asked = free;
  settings.output.overwrite = true;  // the probes are answered by the journal
  CHECK(run_job(settings).open == 0);
  CHECK(free == asked);
  CHECK(files.content("auto/run.json").find("\"sampling.rollout.constrain\":\"on\"") != std::string::npos);

  settings = files.settings(server, "off");
  settings.constrain = "off";
  const int before = governed;
  CHECK(run_job(settings).summary.find("probes") == std::string::npos);
  CHECK(governed == before);
  settings = files.settings(server, "always");
  settings.constrain = "always";
  const run::RunResult always = run_job(settings);
  CHECK(always.open == 0);
  CHECK(always.summary.find("probes") == std::string::npos);
  CHECK(files.content("always/trees.jsonl").find("\"malformed\"") == std::string::npos);
  settings = files.settings(server, "none");
  settings.servers.kind = "other";  // takes no grammar
  CHECK(run_job(settings).summary.find("probes") == std::string::npos);
  settings.constrain = "perhaps";
  CHECK_THROWS_WITH(run_job(settings), "option 'constrain' is perhaps, allowed: auto, off, always, draft");
}

TEST_CASE("only purposes that the task can ask are probed, and the progress says how many probes were answered") {
  const Files files;
  std::atomic<int> free = 0;
  FaultServer server([&](const Received& request, std::size_t) {
    if (request.path == "/v1/models") return models;
    const bool grammar = request.body.find("\"ebnf\"") != std::string::npos;
    free += grammar ? 0 : 1;
    return chat(grammar ? reply_to(request.body) : "I <b>think</b> so.");
  });
  auto settings = files.settings(server, "answer");
  settings.task = run::Settings::Task::answer;
  std::vector<std::uint64_t> told;
  bool questions = false;
  const run::RunResult result = run_job(settings, [&](const run::Progress& progress) {
    if (progress.probes) told.push_back(*progress.probes);
    if (progress.probes) CHECK_FALSE(questions);
    else questions |= progress.calls > 0;
  });
  CHECK(result.open == 0);
  CHECK(free == 2 * 2);  // of rollout and forced_answer
  REQUIRE_FALSE(told.empty());
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.front() == 0);
  CHECK(told.back() == 2 * 3);  // the last of each is under the grammar
  CHECK(questions);
  const std::string record = files.content("answer/run.json");
  for (const char* purpose : {"rollout", "forced_answer"})
    CHECK(record.find("sampling." + std::string(purpose) + ".constrain\":\"on\"") != std::string::npos);
  CHECK(record.find("sampling.termination.constrain\":null") != std::string::npos);
}

TEST_CASE("a purpose whose probes fail is decided by the next start, and by none once questions got replies") {
  const Files files;
  std::atomic<bool> probes_fail = true, all_fail = true;
  FaultServer server([&](const Received& request, std::size_t) {
    if (request.path == "/v1/models") return models;
    const bool probe =
        request.body.find("Don Quixote") != std::string::npos || request.body.find("Vienna") != std::string::npos;
    if (all_fail || (probe && probes_fail)) return Answer{.body = "overloaded", .status = 503};
    return chat(request.body.find("\"ebnf\"") != std::string::npos ? reply_to(request.body) : "I <b>think</b> so.");
  });
  const std::string decision = "sampling.rollout.constrain\":\"";
  auto settings = files.settings(server, "later");
  settings.servers.attempts = 1;
  CHECK(run_job(settings).open == 4);
  CHECK(files.content("later/run.json").find(decision) == std::string::npos);
  all_fail = probes_fail = false;
  CHECK(run_job(settings).open == 0);
  CHECK(files.content("later/run.json").find(decision + "on") != std::string::npos);

  probes_fail = true;
  settings = files.settings(server, "never");
  settings.servers.attempts = 1;
  CHECK(run_job(settings).open == 0);  // all unreadable
  CHECK(files.content("never/run.json").find(decision + "off") != std::string::npos);
  probes_fail = false;
  std::filesystem::remove(settings.output.folder + "/summary.json");
  CHECK(run_job(settings).open == 0);
  CHECK(files.content("never/run.json").find(decision + "off") != std::string::npos);
}

TEST_CASE("a purpose whose grammar the server refuses is free, and the run says so") {
  const Files files;
  FaultServer server([&](const Received& request, std::size_t) {
    if (request.path == "/v1/models") return models;
    if (request.body.find("\"ebnf\"") != std::string::npos)
      return Answer{.body = R"({"error":{"message":"no grammar backend"}})", .status = 400};
    return chat("I <b>think</b> so.");
  });
  const run::RunResult result = run_job(files.settings(server, "refused"));
  CHECK(result.open == 0);
  const std::string record = files.content("refused/run.json");
  CHECK(record.find("sampling.rollout.constrain\":\"off\"") != std::string::npos);
  CHECK(result.summary.find("the grammar of 'rollout' was refused, so its replies are free: ") != std::string::npos);
  CHECK(result.summary.find("no grammar backend") != std::string::npos);
}

TEST_CASE("a draft that cannot be read is followed by a reply under the grammar") {
  const Files files;
  FaultServer server([&](const Received& request, std::size_t) {
    if (request.path == "/v1/models") return models;
    const bool grammar = request.body.find("\"ebnf\"") != std::string::npos;
    CHECK(grammar == (request.body.find("\"assistant\"") != std::string::npos));
    return chat(grammar ? reply_to(request.body) : "I <b>think</b> so.");
  });
  auto settings = files.settings(server, "draft");
  settings.constrain = "draft";
  const run::RunResult result = run_job(settings);
  CHECK(result.open == 0);
  CHECK(files.content("draft/trees.jsonl").find("\"malformed\"") == std::string::npos);
}

TEST_CASE("a server that ignores a grammar is named at once and in the notes") {
  const Files files;
  FaultServer server([&](const Received& request, std::size_t) {
    return request.path == "/v1/models" ? models : chat("I <b>think</b> so.");
  });
  auto settings = files.settings(server, "ignored");
  settings.constrain = "always";
  settings.limit = 1;
  std::string trouble;
  run::Job job(settings);
  const run::RunResult result = job([&](const run::Progress& progress) {
    if (trouble.empty()) trouble = progress.trouble;
  });
  CHECK(trouble.find("seems to ignore grammars") != std::string::npos);
  CHECK(trouble.starts_with(server.url("/v1")));
  CHECK(result.summary.find("\"grammar_broken\":") != std::string::npos);
  CHECK(result.summary.find("seems to ignore grammars") != std::string::npos);
}

TEST_CASE("the file of the servers' key is for encoders and value servers too") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "key", "sk-servers\n");
  FaultServer server([](const Received& request, std::size_t) {
    return Answer{.body = request.path == "/value" ? R"({"plan":[0.5],"search":[-0.5]})"
                                                   : R"({"data":[{"index":0,"embedding":[1,0]}]})"};
  });
  run::Settings settings;
  settings.servers.api_key_file = folder / "key";
  settings.encoder.url = server.url("/v1");
  settings.encoder.name = "e";
  settings.values.server = server.url("/value");
  settings.values.name = "v";
  for (auto make : {run::detail::make_encoder, run::detail::make_value_server}) {
    const run::detail::EncoderBackend backend = make(settings);
    backend.service->submit(1, EncodeRequest("text", EncodeRequest::Role::query));
    CHECK(backend.service->poll(std::chrono::seconds(100)).at(0).outcome.ok());
    CHECK(server.received().back().headers.find("authorization: bearer sk-servers") != std::string::npos);
  }
}

TEST_CASE("an option that contradicts its setting is refused") {
  const Files files;
  FaultServer server([](const Received&, std::size_t) { return models; });
  const auto refused = [&](const std::string& option, const std::string& value, const auto& change) {
    auto settings = files.settings(server, "never");
    change(settings);
    settings.set = {{option, value}};
    CHECK_THROWS_WITH_AS(run::Job{settings}, doctest::Contains(("option '" + option + "' is " + value).c_str()),
                         std::invalid_argument);
  };
  refused("constrain", "on", [](auto& settings) { settings.constrain = "off"; });
  refused("constrain", "draft", [](auto& settings) { settings.constrain = "always"; });
  refused("protocol", "tags", [](auto& settings) { settings.protocol = "tools"; });
  const auto tools = [](auto& settings) { settings.protocol = "tools"; };
  refused("constrain", "on", tools);
  refused("sampling.rollout.constrain", "draft", tools);
  for (const char* constrain : {"always", "draft"}) {
    auto settings = files.settings(server, "never");
    tools(settings);
    settings.constrain = constrain;
    CHECK_THROWS_WITH_AS(run::Job{settings}, doctest::Contains("allowed: off beside protocol=tools"),
                         std::invalid_argument);
  }
  auto called = files.settings(server, "called");
  tools(called);
  called.set = {{"sampling.sub_query.constrain", "on"}};  // its replies have no marks, so they call no tool
  CHECK_NOTHROW(run::Job{called});
  auto agreed = files.settings(server, "agreed");
  agreed.constrain = "always";
  agreed.set = {{"constrain", "on"}};
  CHECK_NOTHROW(run::Job{agreed});
}

}  // namespace server_test
