#include "../backend/temporary_folder.hpp"

#include <espalier/run/expand.hpp>
#include <espalier/run/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace annotate_test {

using namespace espalier;
using test::TemporaryFolder;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}
std::ptrdiff_t lines(const std::filesystem::path& path) {
  const std::string text = content(path);
  return std::count(text.begin(), text.end(), '\n');
}

/// A small world on disk and ProRAG's settings that run on it.
class World {
 public:
  World() { run::write_world(folder_ / "world", {.passages = 100, .questions = 6, .seed = 5}); }
  [[nodiscard]] run::Settings settings(const std::string& out, std::vector<std::pair<std::string, std::string>> set = {}) const {
    run::Settings s;
    s.method = "prorag";
    s.questions = folder_ / "world/questions.jsonl";
    s.corpus = folder_ / "world/corpus.jsonl";
    s.out = folder_ / out;
    s.set = {{"simulations", "16"}, {"samples", "3"}};
    s.set.insert(s.set.end(), set.begin(), set.end());
    return s;
  }
  [[nodiscard]] run::Settings annotation(const run::Settings& of, std::vector<std::string> with, const std::string& out) const {
    run::Settings s = of;
    s.task = run::Settings::Task::annotate;
    s.with = std::move(with);
    s.trees = std::filesystem::path(of.out) / "trees.jsonl";
    s.out = folder_ / out;
    return s;
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return folder_.path() / name; }

 private:
  TemporaryFolder folder_;
};

run::RunResult run_job(run::Settings settings) {
  run::Run job(std::move(settings));
  return job();
}

}  // namespace

TEST_CASE("annotating a recorded run gives the files of a run that annotated at once, and asks only what is new") {
  const World world;
  run_job(world.settings("whole", {{"annotate", "both"}}));
  CHECK(lines(world / "whole/prm.jsonl") > 0);
  CHECK(lines(world / "whole/rft.jsonl") > 0);
  CHECK(lines(world / "whole/sft.jsonl") > 0);
  CHECK(lines(world / "whole/rollouts.jsonl") == 0);
  CHECK(content(world / "whole/summary.json").find("\"notes\"") == std::string::npos);

  const auto bare = world.settings("bare", {{"annotate", "none"}});
  run_job(bare);
  CHECK(lines(world / "bare/prm.jsonl") == 0);
  CHECK(lines(world / "bare/rft.jsonl") == 0);
  CHECK(content(world / "bare/summary.json").find(R"("notes":{"rft.jsonl":)") != std::string::npos);
  CHECK(content(world / "bare/trees.jsonl").find("annotations") == std::string::npos);
  const std::string before = content(world / "bare/trees.jsonl"), record = content(world / "bare/run.json");

  const auto judged = world.annotation(bare, {"judge"}, "judged");
  CHECK(run_job(judged).open == 0);
  CHECK(content(world / "bare/trees.jsonl") == before);
  CHECK(lines(world / "judged/prm.jsonl") == lines(world / "whole/prm.jsonl"));
  CHECK(lines(world / "judged/rft.jsonl") == 0);
  CHECK(content(world / "judged/trees.jsonl").find("preferred_over") != std::string::npos);

  run_job(world.annotation(bare, {"judge"}, "bare"));  // in place, one after the other
  run_job(world.annotation(bare, {"prm"}, "bare"));
  CHECK(content(world / "bare/run.json") == record);
  const auto without_options = [](std::string text) {
    for (const char* option : {R"("annotate":"both")", R"("annotate":"none")"})
      for (std::size_t at = 0; (at = text.find(option, at)) != std::string::npos;) text.erase(at, std::string(option).size());
    return text;
  };
  for (const char* name : {"trees.jsonl", "prm.jsonl", "rft.jsonl", "sft.jsonl", "answers.jsonl"}) {
    CAPTURE(name);
    CHECK(without_options(content(world / "bare" / name)) == without_options(content(world / "whole" / name)));
  }

  run_job(world.annotation(bare, {"prm"}, "bare"));  // once more: everything is in the journal
  const auto accounts = output::read_flat_json((world / "bare/accounts.json").string());
  CHECK(accounts.at("model.paid_applied") == "0");
  CHECK(run_job(bare).recognised);
}

TEST_CASE("groups of trajectories become rows with advantages") {
  const World world;
  run_job(world.settings("groups", {{"grow", "group"}, {"group", "4"}, {"annotate", "prm"}}));
  CHECK(lines(world / "groups/rollouts.jsonl") == 6 * 4);
  CHECK(lines(world / "groups/prm.jsonl") == 0);
  CHECK(lines(world / "groups/rft.jsonl") > 0);
  CHECK(content(world / "groups/rollouts.jsonl").find("\"advantage\":null") == std::string::npos);
}

TEST_CASE("questions that a run left open stay open, unknown annotations and methods without any are refused") {
  const World world;
  auto settings = world.settings("run", {{"annotate", "none"}});
  settings.limit = 2;
  run_job(settings);
  auto more = world.annotation(settings, {"judge"}, "more");
  more.limit = 3;
  const auto result = run_job(more);
  CHECK(result.open == 1);
  CHECK(content(world / "more/answers.jsonl").find("left this question open") != std::string::npos);
  CHECK_THROWS_WITH_AS(run_job(world.annotation(settings, {"jury"}, "jury")), "option 'with' is jury, allowed: judge, prm, embedding", std::invalid_argument);
  auto other = settings;
  other.method = "reasonrag";
  other.set = {{"simulations", "4"}};
  other.out = (world / "reason").string();
  run_job(other);
  CHECK_THROWS_WITH_AS(run_job(world.annotation(other, {"judge"}, "none")), "option 'with' is judge, allowed: embedding", std::invalid_argument);
}

}  // namespace annotate_test
