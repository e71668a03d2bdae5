#include <espalier/run/job.hpp>

#include "../backend/fault_server.hpp"
#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <string>

namespace gold_test {

using namespace espalier;
using test::Answer;
using test::FaultServer;
using test::Received;

namespace {

/// Says something that every purpose can read: marks of searches first, so that loops go on for as long as they may.
constexpr const char* reply =
    R"x({"choices":[{"index":0,"message":{"role":"assistant","content":"Follow up: which ship?\nQuery: a ship\n<search> a ship </search> <query> a ship </query> )x"
    R"x(<subquery> a ship </subquery> <question> which ship? </question> <|begin_search_query|>a ship<|end_search_query|> Search(a ship)\n)x"
    R"x(<evidence> none </evidence> <subanswer> none </subanswer> <conclusion> none </conclusion> Intermediate answer: none\nLet's search: a ship\n)x"
    R"x(<score> 0.5, 0.5 </score> <score> 0.5 </score> Scores: 0, 0, 0\nClass: C\nAnswer: a ship\nSo the answer is: a ship\nSo the final answer is: a ship\n)x"
    R"x(Final Answer: a ship\n<answer> a ship </answer> \\boxed{a ship} Finish(a ship)"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9}})x";

/// How many requests of a run show the gold answer, and how many there were.
std::pair<std::size_t, std::size_t> requests(const test::TemporaryFolder& folder, const std::string& name,
                                             run::Settings::Task task) {
  std::atomic<std::size_t> leaks = 0, all = 0;
  FaultServer server([&](const Received& request, std::size_t) {
    ++all;
    leaks += request.body.find("Zzyzx") != std::string::npos;
    return Answer{.body = reply};
  });
  run::Settings settings;
  settings.task = task;
  settings.method = name;
  settings.model.url = server.url("/v1");
  settings.model.name = "m";
  settings.servers.kind = "vllm";  // it can be asked for all that any method asks
  settings.questions = folder / "questions.jsonl";
  settings.retriever.corpus = folder / "corpus.jsonl";
  settings.output.folder = folder / (name + (task == run::Settings::Task::answer ? "-answer" : "-expand"));
  settings.journal.keep = false;
  run::Job job(settings);
  try {
    job(nullptr);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("log-probabilities") != std::string::npos);  // this server gives none
  }
  return {leaks.load(), all.load()};
}

}  // namespace

TEST_CASE("`answer` shows no model the gold answers of its question file, whatever the method") {
  const test::TemporaryFolder folder;
  {
    std::ofstream questions(folder / "questions.jsonl"), corpus(folder / "corpus.jsonl");
    questions << R"({"id":"q","question":"What is the name of the ship?","golden_answers":["Zzyzx"],"metadata":{}})"
              << '\n';
    for (int i = 0; i < 5; ++i)
      corpus << R"({"id":"d)" << i << R"(","title":"Ship )" << i << R"(","contents":"Ship )" << i << R"(\nIt sails."})"
             << '\n';
  }
  for (const std::string& name : method::method_names()) {
    CAPTURE(name);
    const auto [leaks, all] = requests(folder, name, run::Settings::Task::answer);
    CHECK(leaks == 0);
    CHECK(all > 0);
  }
  // the test can see a leak: a judge of labelled trees is shown gold
  CHECK(requests(folder, "reasonrag", run::Settings::Task::expand).first > 0);
}

}  // namespace gold_test
