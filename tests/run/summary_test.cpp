#include <espalier/method/registry.hpp>
#include <espalier/run/detail/harvest.hpp>

#include "../backend/temporary_folder.hpp"
#include "../output/small_tree.hpp"
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace summary_test {

using namespace espalier;

TEST_CASE("a warning is given when no choice was the exploration term's") {
  const auto summary_of = [](std::uint64_t choices, std::uint64_t explored) {
    run::detail::Summary summary;
    for (const std::uint64_t part : {std::uint64_t(0), explored}) {  // two trees, of which one explored nothing
      testing::SmallTree made({"x"});
      made.tree.choices = choices / 2;
      made.tree.explored = part;
      summary.count(made.tree);
    }
    return summary.json();
  };
  CHECK(summary_of(0, 0).find("notes") == std::string::npos);
  CHECK(summary_of(120, 1).find("notes") == std::string::npos);
  CHECK(summary_of(120, 0).find(R"("notes":{"trees.jsonl":"exploration changed none of 120 choices: its weight is )"
                                R"(small beside the differences of the values, so raise it"})") != std::string::npos);
}

TEST_CASE("rows and sums stand in the order of the questions, in whatever order their trees end") {
  const test::TemporaryFolder folder;
  run::Settings settings;
  settings.task = run::Settings::Task::answer;
  std::vector<rag::Example> examples(3);
  for (std::size_t i = 0; i < 3; ++i) examples[i].question = {"q" + std::to_string(i), "?"};
  const std::vector<std::size_t> places{0, 1, 2};
  const auto method = method::make_method("direct");
  const auto harvested = [&](const std::vector<std::size_t>& order) {
    run::detail::Harvest harvest(settings, examples, places, *method, folder.path());
    for (const std::size_t i : order) {
      testing::SmallTree made({"b c d e f g h"});
      made.add(0, testing::SegmentKind::answer, std::string("b c d").substr(0, 1 + 2 * i));
      made.tree.ledger.add_unread("rollout", Ledger::Unread("unread of " + std::to_string(i), 64, Seed(), 0));
      harvest.take(i, std::move(made.tree), 0);
    }
    harvest.commit();
    CHECK(harvest.why_open().empty());
    return test::read_bytes(folder / "answers.jsonl") + harvest.summary.json();
  };
  const std::string forwards = harvested({0, 1, 2});
  CHECK(harvested({2, 1, 0}) == forwards);
  CHECK(forwards.find("unread of 0") != std::string::npos);
  // Added from the right, the last digit is 5.
  CHECK(forwards.find("\"f1\":0.4314814814814814,") != std::string::npos);
}

}  // namespace summary_test
