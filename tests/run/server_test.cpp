#include <espalier/backend/openai.hpp>
#include <espalier/backend/sqlite_store.hpp>
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
using namespace espalier::test;

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

/// An SGLang server, where `reply` answers the rest.
FaultServer serving(auto reply) {
  return FaultServer(
      [reply](const Received& request, std::size_t) { return request.path == "/v1/models" ? models : reply(request); });
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
bool governed(const Received& request) { return holds(request.body, "\"ebnf\""); }
bool probes(const Received& request) { return holds(request.body, "Don Quixote") || holds(request.body, "Vienna"); }
const Answer overload{.body = "overloaded", .status = 503};

/// A reply that can be read under a grammar only.
Answer under_grammar(const Received& request) {
  return chat(governed(request) ? reply_to(request.body) : "I <b>think</b> so.");
}

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
    if (failing && number_of(request.body) % 40 == 0) return overload;
    ++paid[request.body];
    return chat(reply_to(request.body));
  });
  FaultServer steady = serving([](const Received& request) { return chat(reply_to(request.body)); });

  CHECK(run_job(files.settings(steady, "whole")).open == 0);
  auto settings = files.settings(flaky, "broken");
  settings.servers.attempts = 1;
  const run::RunResult first = run_job(settings);
  CHECK(first.open > 0);
  const std::string answers = files.content("broken/answers.jsonl");
  CHECK(std::count(answers.begin(), answers.end(), '\n') == 4);  // no question is lost
  CHECK(holds(answers, "\"status\":\"open\",\"error\":\""));
  CHECK(holds(answers, "503"));
  CHECK(holds(first.summary, "\"open\":" + std::to_string(first.open)));
  failing = false;
  CHECK(run_job(settings).open == 0);
  for (const char* file : {"/trees.jsonl", "/answers.jsonl", "/sft.jsonl", "/dpo.jsonl"})
    CHECK(files.content(std::string("broken") + file) == files.content(std::string("whole") + file));
  for (const auto& [body, times] : paid) CHECK(times == 1);
  CHECK(asked == 1);  // the second run knows from servers.json
  CHECK(holds(files.content("broken/servers.json"), "\"sglang\"}"));
}

TEST_CASE("probes decide once which purposes are constrained, and the run keeps to it") {
  const Files files;
  std::atomic<int> free = 0, bound = 0, overloaded = 0;
  FaultServer server = serving([&](const Received& request) {
    ++(governed(request) ? bound : free);
    if (governed(request) && !probes(request) && overloaded > 0) return overload;
    return holds(request.body, "one query for a search engine") ? chat(reply_to(request.body)) : under_grammar(request);
  });
  auto settings = files.settings(server, "auto");
  settings.servers.attempts = 1;
  overloaded = 1;
  CHECK(run_job(settings).open == 4);
  // Two probes decide, but sub_query needs no grammar. Nobody has come so far.
  CHECK(free == 6 * 2 + 8);
  const std::string record = files.content("auto/run.json");
  for (const char* purpose : {"termination", "rollout", "own_answer"})
    CHECK(holds(record, "sampling." + std::string(purpose) + ".constrain\":\"on\""));
  CHECK(holds(record, "\"sampling.sub_query.constrain\":\"off\""));
  overloaded = 0;
  const run::RunResult second = run_job(settings);
  CHECK(second.open == 0);
  CHECK(holds(second.summary,
              R"("probes":{"forced_answer":{"calls":3,"prompt_tokens":27,"completion_tokens":12,"readable":1})"));
  CHECK(holds(files.content("auto/trees.jsonl"), "\"sampling.rollout.constrain\":\"on\""));
  auto shard = files.settings(server, "shard");
  shard.shard = "1/2";
  CHECK_THROWS_WITH(run_job(shard), doctest::Contains("option 'constrain' is auto, allowed: off, always or draft"));
  const int asked = free;
  settings.output.overwrite = true;  // the probes are answered by the journal
  CHECK(run_job(settings).open == 0);
  CHECK(free == asked);
  CHECK(holds(files.content("auto/run.json"), "\"sampling.rollout.constrain\":\"on\""));

  settings = files.settings(server, "off");
  settings.constrain = "off";
  const int before = bound;
  CHECK(run_job(settings).summary.find("probes") == std::string::npos);
  CHECK(bound == before);
  settings = files.settings(server, "always");
  settings.constrain = "always";
  const run::RunResult always = run_job(settings);
  CHECK(always.open == 0);
  CHECK_FALSE(holds(always.summary, "probes"));
  CHECK_FALSE(holds(files.content("always/trees.jsonl"), "\"malformed\""));
  settings = files.settings(server, "none");
  settings.servers.kind = "other";  // takes no grammar
  CHECK(run_job(settings).summary.find("probes") == std::string::npos);
  settings.constrain = "perhaps";
  CHECK_THROWS_WITH(run_job(settings), "option 'constrain' is perhaps, allowed: auto, off, always, draft");
}

TEST_CASE("only purposes that the task can ask are probed, and the progress says how many probes were answered") {
  const Files files;
  std::atomic<int> free = 0;
  FaultServer server = serving([&](const Received& request) {
    free += governed(request) ? 0 : 1;
    return under_grammar(request);
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
    CHECK(holds(record, "sampling." + std::string(purpose) + ".constrain\":\"on\""));
  CHECK(holds(record, "sampling.termination.constrain\":null"));
}

TEST_CASE("a purpose whose probes fail is decided by the next start, and by none once questions got replies") {
  const Files files;
  std::atomic<bool> probes_fail = true, all_fail = true;
  FaultServer server = serving([&](const Received& request) {
    return all_fail || (probes(request) && probes_fail) ? overload : under_grammar(request);
  });
  const std::string decision = "sampling.rollout.constrain\":\"";
  auto settings = files.settings(server, "later");
  settings.servers.attempts = 1;
  CHECK(run_job(settings).open == 4);
  CHECK_FALSE(holds(files.content("later/run.json"), decision));
  all_fail = probes_fail = false;
  CHECK(run_job(settings).open == 0);
  CHECK(holds(files.content("later/run.json"), decision + "on"));

  probes_fail = true;
  settings = files.settings(server, "never");
  settings.servers.attempts = 1;
  CHECK(run_job(settings).open == 0);  // all unreadable
  CHECK(holds(files.content("never/run.json"), decision + "off"));
  probes_fail = false;
  std::filesystem::remove(settings.output.folder + "/summary.json");
  CHECK(run_job(settings).open == 0);
  CHECK(holds(files.content("never/run.json"), decision + "off"));
}

TEST_CASE("a purpose whose grammar the server refuses is free, and the run says so") {
  const Files files;
  FaultServer server = serving([](const Received& request) {
    const Answer refusal{.body = R"({"error":{"message":"no grammar backend"}})", .status = 400};
    return governed(request) ? refusal : under_grammar(request);
  });
  const run::RunResult result = run_job(files.settings(server, "refused"));
  CHECK(result.open == 0);
  const std::string record = files.content("refused/run.json");
  CHECK(holds(record, "sampling.rollout.constrain\":\"off\""));
  CHECK(holds(result.summary, "the grammar of 'rollout' was refused, so its replies are free: "));
  CHECK(holds(result.summary, "no grammar backend"));
}

TEST_CASE("a draft that cannot be read is followed by a reply under the grammar") {
  const Files files;
  FaultServer server = serving([](const Received& request) {
    CHECK(governed(request) == holds(request.body, "\"assistant\""));
    return under_grammar(request);
  });
  auto settings = files.settings(server, "draft");
  settings.constrain = "draft";
  const run::RunResult result = run_job(settings);
  CHECK(result.open == 0);
  CHECK_FALSE(holds(files.content("draft/trees.jsonl"), "\"malformed\""));
}

TEST_CASE("a server that ignores a grammar is named at once and in the notes") {
  const Files files;
  FaultServer server = serving([](const Received&) { return chat("I <b>think</b> so."); });
  auto settings = files.settings(server, "ignored");
  settings.constrain = "always";
  settings.limit = 1;
  std::string trouble;
  run::Job job(settings);
  const run::RunResult result = job([&](const run::Progress& progress) {
    if (trouble.empty()) trouble = progress.trouble;
  });
  CHECK(holds(trouble, "seems to ignore grammars"));
  CHECK(trouble.starts_with(server.url("/v1")));
  CHECK(holds(result.summary, "\"grammar_broken\":"));
  CHECK(holds(result.summary, "seems to ignore grammars"));
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
  settings.values.source = server.url("/value");
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
    settings.set.emplace_back(option, value);
    CHECK_THROWS_WITH_AS(run::Job{settings}, doctest::Contains(("option '" + option + "' is " + value).c_str()),
                         std::invalid_argument);
  };
  refused("constrain", "on", [](auto& settings) { settings.constrain = "off"; });
  refused("constrain", "draft", [](auto& settings) { settings.constrain = "always"; });
  const auto tools = [](auto& settings) { settings.set = {{"protocol", "tools"}}; };
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
  called.set.emplace_back("sampling.sub_query.constrain", "on");  // its replies have no marks, so they call no tool
  CHECK_NOTHROW(run::Job{called});
  auto agreed = files.settings(server, "agreed");
  agreed.constrain = "always";
  agreed.set = {{"constrain", "on"}};
  CHECK_NOTHROW(run::Job{agreed});
}

}  // namespace server_test
