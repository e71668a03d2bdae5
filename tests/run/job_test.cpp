#include <espalier/run/answering.hpp>

#include "small_world.hpp"
#include <doctest/doctest.h>

#include <map>
#include <thread>

namespace job_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::testing;

namespace {

/// What has to be the same bytes, by file.
std::map<std::string, std::string> results(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : {"trees.jsonl", "answers.jsonl", "sft.jsonl", "dpo.jsonl"})
    files[name] = content(folder / name);
  const std::string summary = content(folder / "summary.json");
  files["summary.json"] = summary.substr(0, summary.find("\"seconds\""));
  return files;
}

/// A small world, and settings for two executions of each decision.
class World : public testing::SmallWorld {
 public:
  World() : SmallWorld(10) {}
  [[nodiscard]] run::Settings settings(const std::string& out) const {
    run::Settings s = SmallWorld::settings(out);
    s.set = {{"n", "2"}};
    return s;
  }
};

std::uint64_t number(const std::map<std::string, std::string>& fields, const std::string& name) {
  return std::stoull(fields.at(name));
}

}  // namespace

TEST_CASE("a run stopped at any moment goes on, ends in the same bytes and pays for nothing twice") {
  const World world;
  run_job(world.settings("reference"));
  struct Stop {};
  for (const int turns : {1, 3, 9, 20, 40}) {
    const std::string name = "stopped" + std::to_string(turns);
    auto settings = world.settings(name);
    settings.execution.in_flight = 16;
    for (int round = 0; round < 3; ++round) {
      int left = turns;
      CHECK_THROWS_AS(run_job(settings,
                              [&](const run::Progress&) {
                                if (--left < 0) throw Stop();
                              }),
                      Stop);
      for (const char* file : {"trees.jsonl", "answers.jsonl", "sft.jsonl", "summary.json", "trees.jsonl.part"})
        CHECK_FALSE(std::filesystem::exists(world / name / file));
    }
    run_job(settings);
    CHECK(results(world / name) == results(world / "reference"));
    const auto accounts = output::detail::read_flat_json((world / name / "accounts.json").string());
    CHECK(number(accounts, "model.paid_applied") + number(accounts, "model.cached") +
              number(accounts, "model.shared") ==
          number(accounts, "model.logical"));
    CHECK((turns < 9 || number(accounts, "model.cached") > 0));

    settings.output.overwrite = true;  // once more, with the journal kept: everything is there
    run_job(settings);
    const auto again = output::detail::read_flat_json((world / name / "accounts.json").string());
    CHECK(number(again, "model.paid_applied") == 0);
    CHECK(results(world / name) == results(world / "reference"));
  }
}

TEST_CASE(
    "a finished run is recognised; another option, seed or input is refused by name unless it is to be overwritten") {
  const World world;
  const auto settings = world.settings("run");
  CHECK_FALSE(run_job(settings).recognised);
  const auto stamp = std::filesystem::last_write_time(world / "run/trees.jsonl");
  auto faster = settings;
  faster.execution.in_flight = 3;  // a matter of execution
  CHECK(run_job(faster).recognised);
  CHECK(std::filesystem::last_write_time(world / "run/trees.jsonl") == stamp);
  const auto refused = [&](run::Settings changed, const std::string& name) {
    try {
      run_job(std::move(changed));
      FAIL("not refused: " << name);
    } catch (const std::invalid_argument& error) {
      CHECK_MESSAGE(std::string(error.what()).find("another " + name + " ") != std::string::npos, error.what());
    }
  };
  auto changed = settings;
  changed.set.emplace_back("threshold", "0.5");
  refused(changed, "options.threshold");
  std::ofstream(world / "world/corpus.jsonl", std::ios::app)
      << "{\"id\":\"new\",\"title\":\"New\",\"contents\":\"New\\ntext\"}\n";
  refused(settings, "inputs.corpus");
  changed = settings;
  changed.output.overwrite = true;
  CHECK_FALSE(run_job(changed).recognised);
}

TEST_CASE(
    "a server that refuses leaves questions open, with the reason, and a run with the journal alone says what it "
    "lacks") {
  const World world;
  auto settings = world.settings("open");
  settings.model.url = "http://127.0.0.1:9/v1";
  settings.model.name = "m";
  settings.servers.attempts = 1;
  settings.limit = 3;
  const run::RunResult result = run_job(settings);
  CHECK(result.open == 3);
  CHECK(content(world / "open/trees.jsonl").empty());
  const std::string answers = content(world / "open/answers.jsonl");
  CHECK(std::count(answers.begin(), answers.end(), '\n') == 3);
  CHECK(answers.find("\"status\":\"open\"") != std::string::npos);
  CHECK(answers.find("127.0.0.1:9") != std::string::npos);
  CHECK_FALSE(run_job(settings).recognised);  // an open run is not finished

  auto replay = world.settings("replayed");
  replay.limit = 2;
  run_job(replay);
  const auto before = results(world / "replayed");
  replay.journal.replay = true;
  CHECK(run_job(replay).open == 0);
  CHECK(results(world / "replayed") == before);
  replay.limit = 3;
  replay.output.overwrite = true;
  CHECK(run_job(replay).open == 1);  // the third question's answers were never asked for
  CHECK(content(world / "replayed/answers.jsonl").find("not in the journal") != std::string::npos);
}

TEST_CASE("a run takes its shard of the first questions and notes their places, and its folder takes no other shard") {
  const World world;
  std::map<std::size_t, std::string> taken;
  std::size_t questions = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const std::string out = std::string("shard") + shard[0];
    auto settings = world.settings(out);
    settings.limit = 8;
    settings.shard = shard;
    run_job(settings);
    output::detail::for_each_line((world / out / "costs.jsonl").string(), [&](const output::detail::JsonLine& line) {
      taken[line.count("place")] = line.text("id");
      return ++questions > 0;
    });
    settings.shard = shard == std::string("1/3") ? "" : "1/3";
    CHECK_THROWS_WITH_AS(run_job(settings), doctest::Contains("another shard"), std::invalid_argument);
  }
  CHECK(questions == 8);
  const auto all = output::read_questions((world / "world/questions.jsonl").string(), {.limit = 8});
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(taken[i] == all[i].question.id);
}

TEST_CASE("single purposes may ask other models") {
  const World world;
  auto settings = world.settings("two");
  settings.limit = 2;
  settings.model.others.push_back({"own_answer", "http://127.0.0.1:9/v1", "other"});
  settings.servers.attempts = 1;
  CHECK(run_job(settings).open == 2);
  CHECK(content(world / "two/answers.jsonl").find("127.0.0.1:9") != std::string::npos);
}

TEST_CASE("trees grow without gold where the reward needs none, and are no oracle's") {
  const World world;
  std::ofstream(world / "plain.jsonl") << R"({"id":"a","question":"Who directed The Frozen Bratot?"})" << '\n';
  auto settings = world.settings("plain");
  settings.questions = (world / "plain.jsonl").string();
  CHECK_THROWS_AS(run_job(settings), InputError);  // the F1 needs gold
  settings.set.emplace_back("reward", "agreement");
  CHECK(run_job(settings).open == 0);
  CHECK(content(world / "plain/answers.jsonl").find("\"em\":null") != std::string::npos);
  CHECK(content(world / "plain/trees.jsonl").find("\"oracle\":false") != std::string::npos);
  CHECK(content(world / "plain/summary.json").find("\"oracle\":false") != std::string::npos);
  CHECK(content(world / "plain/sft.jsonl").empty());  // no chain is known to be right
}

TEST_CASE("a model that is no address is refused") {
  const World world;
  auto settings = world.settings("bad");
  settings.model.url = "gpt";
  CHECK_THROWS_AS(run_job(settings), std::invalid_argument);
}

namespace {

/// A small world and what is asked about it.
class Asked : public testing::SmallWorld {
 public:
  Asked() : SmallWorld(6) {
    for (const auto& example : output::read_questions((*this / "world/questions.jsonl").string()))
      questions.push_back(example.question);
  }
  [[nodiscard]] run::Settings settings() const {
    run::Settings s = SmallWorld::settings("unused");
    s.task = run::Settings::Task::answer;
    return s;
  }
  std::vector<rag::Question> questions;
};

/// The best answers by id; "" where there is none.
using Answers = std::map<std::uint64_t, std::string>;

run::detail::Answering::Done into(Answers& answers) {
  return [&answers](std::uint64_t id, std::uint64_t, Outcome<rag::Tree> outcome) {
    const auto best = output::best_answer(outcome.value());
    answers[id] = best ? best->text : "";
  };
}

}  // namespace

TEST_CASE("questions that come while others are open get the answers that they get alone") {
  const Asked world;
  Answers alone;
  for (std::size_t i = 0; i < world.questions.size(); ++i) {
    run::detail::Answering answering(world.settings());
    answering.ask(i, world.questions[i], 1);
    answering.stop();
    answering.run(into(alone));
  }
  Answers together;
  run::detail::Answering answering(world.settings());
  std::thread asker([&] {
    for (std::size_t i = world.questions.size(); i-- > 0;) answering.ask(i, world.questions[i], 1);
    answering.stop();
  });
  answering.run(into(together));
  asker.join();
  CHECK(together.size() == world.questions.size());
  CHECK(together == alone);
}

TEST_CASE("a question that was cancelled is dropped, before its start and from within, and the others end") {
  const Asked world;
  run::detail::Answering answering(world.settings());
  for (std::size_t i = 0; i < 4; ++i) answering.ask(i, world.questions[i], 1);
  answering.cancel(1);
  answering.stop();
  Answers answers;
  answering.run([&](std::uint64_t id, std::uint64_t seed, Outcome<rag::Tree> outcome) {
    answering.cancel(3);  // is open, or has ended in this very step
    answering.cancel(77);
    into(answers)(id, seed, std::move(outcome));
  });
  CHECK(answers.contains(0));
  CHECK_FALSE(answers.contains(1));
  CHECK(answers.contains(2));
}

}  // namespace job_test
