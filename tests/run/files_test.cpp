#include <espalier/method/registry.hpp>
#include <espalier/run/detail/harvest.hpp>
#include <espalier/run/detail/stops.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/run/work_folder.hpp>

#include "../backend/temporary_folder.hpp"
#include "../output/small_tree.hpp"
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace files_test {

using namespace espalier;
using run::detail::AtomicFile;
using test::TemporaryFolder;

namespace {

std::size_t files_in(const test::TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "a file appears whole at its commit and replaces what was there") {
  test::write_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new ");
    CHECK(test::read_bytes(folder / "a") == "old");
    AtomicFile moved = std::move(file);
    moved.write("text");
    moved.commit();
  }
  CHECK(test::read_bytes(folder / "a") == "new text");
  CHECK(files_in(folder) == 1);
}

TEST_CASE_FIXTURE(test::InFolder, "a file that is never committed leaves nothing, also when a failure ends it") {
  try {
    AtomicFile file(folder / "a");
    file.write("half");
    throw Error("on the way");
  } catch (const Error&) {
  }
  CHECK(files_in(folder) == 0);
}

TEST_CASE_FIXTURE(test::InFolder, "a file that cannot be written or put in place is named, and nothing is left") {
  CHECK_THROWS_WITH_AS(AtomicFile(folder / "no/a"),
                       ((folder / "no/a") + ": cannot be written: No such file or directory").c_str(), InputError);
  std::filesystem::create_directories(folder / "taken/inside");
  {
    AtomicFile file(folder / "taken");
    CHECK_THROWS_AS(file.commit(), InputError);
  }
  CHECK(files_in(folder) == 1);
}

TEST_CASE_FIXTURE(test::InFolder, "flat JSON gives back what a JsonWriter wrote, byte for byte") {
  std::string text;
  JsonWriter json(text);
  json.begin_object().field("seed", ~std::uint64_t(0)).key("options").begin_object();
  json.field("k", 3).field("tiny", 1e-7).field("third", 1.0 / 3).field("big", 1e300).field("flag", true);
  json.field("text", "\x01 \"é\" </script>\n");
  json.key("list").begin_array().value(-1).null().end_array();
  json.key("inner").begin_object().field("deep", 0.1).end_object();
  json.key("empty").begin_object().end_object().end_object().end_object();
  test::write_bytes(folder / "a", text);
  const auto fields = output::detail::read_flat_json(folder / "a");
  const std::map<std::string, std::string> expected{{"seed", "18446744073709551615"},
                                                    {"options.k", "3"},
                                                    {"options.tiny", "1e-07"},
                                                    {"options.third", "0.3333333333333333"},
                                                    {"options.big", "1e+300"},
                                                    {"options.flag", "true"},
                                                    {"options.text", R"("\u0001 \"é\" </script>\n")"},
                                                    {"options.list", "[-1,null]"},
                                                    {"options.inner.deep", "0.1"}};
  CHECK(fields == expected);
  test::write_bytes(folder / "b", "{");
  CHECK_THROWS_AS((void)output::detail::read_flat_json(folder / "b"), InputError);
  CHECK_THROWS_AS((void)output::detail::read_flat_json(folder / "missing"), InputError);
}

TEST_CASE("the record of the whole run is that of a shard, without what is the shard's own") {
  const output::detail::FlatFields shard{{"annotated", "true"},   {"version", R"("1")"},
                                         {"identity", R"("x")"},  {"seed", "3"},
                                         {"shard", R"("2/3")"},   {"noted.journal", R"("own.sqlite")"},
                                         {"outputs.a.bytes", "1"}};
  const auto whole = run::detail::RunRecord::whole(shard, "");
  run::detail::RunRecord record;
  record.add("seed", "3");
  record.add("shard", R"("")");
  CHECK(whole == output::detail::FlatFields{{"version", R"("1")"},
                                            {"identity", '"' + record.identity() + '"'},
                                            {"seed", "3"},
                                            {"shard", R"("")"},
                                            {"noted.journal", R"("")"}});
}

TEST_CASE("what cannot be read to its end has no identity") {
  CHECK_THROWS_WITH_AS((void)run::detail::hash_file("/"), "/: cannot be read: Is a directory", InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "a stop by the clock is kept and happens again at the same step") {
  const std::filesystem::path file = folder / "stops";
  const Hash search = Hasher().add("a").finish(), other = Hasher().add("b").finish();
  {
    run::detail::Stops stops(file, search);
    CHECK_FALSE(stops(Seed(1), 3, false));
    CHECK(stops(Seed(1), 4, true));
    CHECK_FALSE(stops(Seed(2), 9, false));
  }
  run::detail::Stops again(file, search);
  CHECK_FALSE(again(Seed(1), 3, true));  // late, but it went on here before
  CHECK(again(Seed(1), 4, false));
  CHECK(again(Seed(1), 5, false));
  CHECK(again(Seed(2), 2, true));
  run::detail::Stops elsewhere(file, other);
  CHECK_FALSE(elsewhere(Seed(1), 4, false));
}

TEST_CASE_FIXTURE(test::InFolder, "a torn last line is no stop, and without a file nothing is kept") {
  const std::filesystem::path file = folder / "stops";
  {
    run::detail::Stops stops(file, Hash());
    CHECK(stops(Seed(1), 4, true));
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  run::detail::Stops torn(file, Hash());
  CHECK_FALSE(torn(Seed(1), 4, false));
  CHECK(torn(Seed(3), 7, true));
  run::detail::Stops mended(file, Hash());
  CHECK(mended(Seed(3), 7, false));
  run::detail::Stops memory("", Hash());
  CHECK(memory(Seed(1), 4, true));
  CHECK(memory(Seed(1), 4, false));
}

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
      if (i > 0) made.tree.ledger.execution.prompts["rollout"] = {.reused = i, .read = 10};
      harvest.take(i, std::move(made.tree), 0);
    }
    harvest.commit();
    CHECK(harvest.why_open().empty());
    return test::read_bytes(folder / "answers.jsonl") + harvest.summary.json();
  };
  const std::string forwards = harvested({0, 1, 2});
  CHECK(harvested({2, 1, 0}) == forwards);
  CHECK(forwards.find("unread of 0") != std::string::npos);
  const char* cache = R"("prompt_cache":{"rollout":{"prompt_tokens":23,"reused":3,"read":20}})";
  CHECK(forwards.find(cache) != std::string::npos);
  const std::string costs = test::read_bytes(folder / "costs.jsonl");
  CHECK(costs.find(R"("attempts":0})") < costs.find(R"("reused_tokens":1,"read_tokens":10})"));
  // Added from the right, the last digit is 5.
  CHECK(forwards.find("\"f1\":0.4314814814814814,") != std::string::npos);
}

}  // namespace files_test
