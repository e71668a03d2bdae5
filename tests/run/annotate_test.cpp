#include <espalier/output/tree_reader.hpp>

#include "small_world.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace annotate_test {

using namespace espalier;
using namespace espalier::testing;

namespace {

std::ptrdiff_t lines(const std::filesystem::path& path) {
  const std::string text = content(path);
  return std::count(text.begin(), text.end(), '\n');
}

/// A small world, and ProRAG's settings.
class World : public testing::SmallWorld {
 public:
  World() : SmallWorld(6) {}
  [[nodiscard]] run::Settings settings(const std::string& out,
                                       std::vector<std::pair<std::string, std::string>> set = {}) const {
    run::Settings s = SmallWorld::settings(out);
    s.method = "prorag";
    s.set = {{"simulations", "16"}, {"samples", "3"}};
    s.set.insert(s.set.end(), set.begin(), set.end());
    return s;
  }
  [[nodiscard]] run::Settings annotation(const run::Settings& of, std::vector<std::string> with,
                                         const std::string& out) const {
    run::Settings s = of;
    s.task = run::Settings::Task::annotate;
    s.with = std::move(with);
    s.trees = std::filesystem::path(of.output.folder) / "trees.jsonl";
    s.output.folder = (*this / out).string();
    return s;
  }
};

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
  const std::string before = content(world / "bare/trees.jsonl");
  const auto described = [&] {
    auto fields = output::detail::read_flat_json((world / "bare/run.json").string());
    std::erase_if(fields,
                  [](const auto& field) { return field.first.starts_with("outputs.") || field.first == "annotated"; });
    return fields;
  };
  const auto record = described();

  const auto judged = world.annotation(bare, {"judge"}, "judged");
  CHECK(run_job(judged).open == 0);
  CHECK(content(world / "bare/trees.jsonl") == before);
  CHECK(lines(world / "judged/prm.jsonl") == lines(world / "whole/prm.jsonl"));
  CHECK(lines(world / "judged/rft.jsonl") == 0);
  CHECK(content(world / "judged/trees.jsonl").find("preferred_over") != std::string::npos);

  run_job(world.annotation(bare, {"judge"}, "bare"));  // in place, one after the other
  run_job(world.annotation(bare, {"prm"}, "bare"));
  CHECK(described() == record);
  const auto without_options = [](std::string text) {
    for (const char* option : {R"("annotate":"both")", R"("annotate":"none")"})
      for (std::size_t at = 0; (at = text.find(option, at)) != text.npos;) text.erase(at, std::string(option).size());
    return text;
  };
  for (const char* name : {"trees.jsonl", "prm.jsonl", "rft.jsonl", "sft.jsonl", "answers.jsonl"}) {
    CAPTURE(name);
    CHECK(without_options(content(world / "bare" / name)) == without_options(content(world / "whole" / name)));
  }

  const std::string annotated = content(world / "bare/trees.jsonl");
  for (const char* name : {"prm", "judge"}) {  // once more: everything is in the journal, and nothing is counted twice
    run_job(world.annotation(bare, {name}, "bare"));
    CHECK(output::detail::read_flat_json((world / "bare/accounts.json").string()).at("model.paid_applied") == "0");
    CHECK(content(world / "bare/trees.jsonl") == annotated);
  }
  CHECK(run_job(bare).recognised);
}

TEST_CASE("gold chains become cold-start rows, in a run of their own or added to a recorded one") {
  const World world;
  run_job(world.settings("cold", {{"grow", "none"}, {"annotate", "cold_start"}}));
  std::ptrdiff_t steps = 0;  // of a chain of h steps: 2 h + 1
  for (const auto& example : output::read_questions((world / "world/questions.jsonl").string()))
    steps += 2 * static_cast<std::ptrdiff_t>(example.chain.size()) + 1;
  CHECK(lines(world / "cold/cold_start.jsonl") == steps);
  const auto bare = world.settings("bare", {{"grow", "none"}, {"annotate", "none"}});
  run_job(bare);
  CHECK(lines(world / "bare/cold_start.jsonl") == 0);
  const std::string answers = content(world / "bare/answers.jsonl");
  CHECK(answers.find(R"("status":"done")") != answers.npos);  // rows may come later
  run_job(world.annotation(bare, {"cold_start"}, "bare"));
  CHECK(lines(world / "bare/cold_start.jsonl") == steps);
}

TEST_CASE("an annotation that goes takes its own costs along, and none that the search had for the same purpose") {
  const World world;
  auto chosen = world.settings("air");
  chosen.method = "airrag";
  chosen.set = {{"rollouts", "4"}, {"choice", "reward_model"}};  // the search asks for process rewards too
  const auto costs = [&](const std::string& run) {
    std::map<std::string, std::vector<std::uint64_t>> counted;
    for (const auto& recorded : output::read_trees((world / run / "trees.jsonl").string())) {
      counted["all"].push_back(recorded.tree.ledger.by_purpose().at("process_reward").completions);
      const auto part = recorded.tree.annotation_costs.find("prm");
      counted["prm"].push_back(part == recorded.tree.annotation_costs.end()
                                   ? 0
                                   : part->second.by_purpose().at("process_reward").completions);
    }
    return counted;
  };
  run_job(chosen);
  auto searched = costs("air");
  CHECK(*std::min_element(searched["all"].begin(), searched["all"].end()) > 0);
  CHECK(searched["prm"] == std::vector<std::uint64_t>(6, 0));
  for (int i = 0; i < 3; ++i) run_job(world.annotation(chosen, {"prm"}, "air"));
  auto annotated = costs("air");
  for (std::size_t i = 0; i < 6; ++i) CHECK(annotated["all"][i] == searched["all"][i] + annotated["prm"][i]);
}

TEST_CASE(
    "trees that were cut since the run are not annotated, and what was annotated is not made again without that") {
  const World world;
  const auto settings = world.settings("run", {{"annotate", "none"}});
  run_job(settings);
  const std::string whole = content(world / "run/trees.jsonl");
  const auto cut = [&] {
    std::filesystem::resize_file(world / "run/trees.jsonl", content(world / "run/trees.jsonl").find('\n') + 1);
  };
  cut();
  for (const char* out : {"run", "other"})
    CHECK_THROWS_WITH_AS(run_job(world.annotation(settings, {"judge"}, out)),
                         doctest::Contains("run/trees.jsonl: is not as the run left it"), InputError);
  CHECK(run_job(settings).rebuilt == std::vector<std::string>{"trees.jsonl"});
  CHECK(content(world / "run/trees.jsonl") == whole);
  run_job(world.annotation(settings, {"judge"}, "run"));
  cut();
  CHECK_THROWS_WITH_AS(run_job(settings),
                       doctest::Contains("run/trees.jsonl: is not as `annotate` left it. --overwrite"), InputError);
  auto again = settings;
  again.output.overwrite = true;
  run_job(again);
  CHECK(content(world / "run/trees.jsonl") == whole);
}

TEST_CASE("groups of trajectories become rows with advantages") {
  const World world;
  run_job(world.settings("groups", {{"grow", "group"}, {"group", "4"}, {"annotate", "prm"}}));
  CHECK(lines(world / "groups/rollouts.jsonl") == 6 * 4);
  CHECK(lines(world / "groups/prm.jsonl") == 0);
  CHECK(lines(world / "groups/rft.jsonl") > 0);
  CHECK(content(world / "groups/rollouts.jsonl").find("\"advantage\":null") == std::string::npos);
}

TEST_CASE("questions that a run left open stay open, and methods without annotations are refused") {
  const World world;
  auto settings = world.settings("run", {{"annotate", "none"}});
  settings.limit = 2;
  run_job(settings);
  auto more = world.annotation(settings, {"judge"}, "more");
  more.limit = 3;
  const auto result = run_job(more);
  CHECK(result.open == 1);
  CHECK(content(world / "more/answers.jsonl").find("left this question open") != std::string::npos);
  auto other = settings;
  other.method = "reasonrag";
  other.set = {{"simulations", "4"}};
  other.output.folder = (world / "reason").string();
  run_job(other);
  CHECK_THROWS_WITH_AS(run_job(world.annotation(other, {"judge"}, "none")),
                       "option 'with' is judge, allowed: embedding", std::invalid_argument);
}

}  // namespace annotate_test
