#include <espalier/run/detail/merge.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <fstream>
#include <optional>
#include <string>

namespace merge_test {

using namespace espalier;
using run::detail::MergedSummary;
using run::detail::Summary;
using test::TemporaryFolder;

namespace {

output::detail::AnswerRow answered(double em) {
  output::detail::AnswerRow row;
  row.status = "done";
  row.answer = "a";
  row.em = row.f1 = row.acc = em;
  return row;
}

std::string row_json(const std::string& id, double em) {
  output::detail::AnswerRow row = answered(em);
  row.id = id;
  std::string out;
  output::detail::append_answer_row(row, out);
  return out;
}

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name) << text;
  return folder / name;
}

/// The sums of a shard with one purpose, whose first unread completion was of this question.
Summary shard(std::uint64_t calls, std::size_t index, const std::string& question) {
  Summary summary;
  summary.method = "decex";
  summary.model = "m";
  summary.retriever = "r";
  summary.seconds = 1.5;
  summary.trees.nodes = 10 * calls;
  summary.trees.pruned[2] = 3;
  Ledger& ledger = summary.trees.ledger;
  ledger["rollout"] = {.completions = calls,
                       .prompt_tokens = 7 * calls,
                       .completion_tokens = 5,
                       .retrievals = 2,
                       .unread = 1,
                       .cut = 1,
                       .thinking_tokens = calls};
  ledger.execution.ungoverned["rollout"] = 1;
  Ledger::Unread unread("unread of " + question, 64, Seed(), 0);
  unread.in_thought = true;
  summary.trees.first_unread.insert({"rollout", {index, question, unread}});
  return summary;
}

}  // namespace

TEST_CASE("scores are summed in the order of the questions, in whatever order they come") {
  // Added from the left, 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1.
  Summary forwards, backwards;
  const double scores[] = {0.1, 0.2, 0.3};
  for (std::size_t i = 0; i < 3; ++i) forwards.add(i, answered(scores[i]));
  for (std::size_t i = 3; i-- > 0;) backwards.add(i, answered(scores[i]));
  CHECK(forwards.json() == backwards.json());
  CHECK(forwards.json().find("\"em\":0.20000000000000004,") != std::string::npos);  // backwards: 0.19999999999999998
}

TEST_CASE("the summary of shards is that of the run over all their questions") {
  const TemporaryFolder folder;
  Summary whole = shard(5, 1, "b");
  Summary first = shard(2, 0, "c"), second = shard(3, 0, "b");  // the questions a, c and b, in the order a b c
  whole.trees.ledger["rollout"] = {.completions = 5,
                                   .prompt_tokens = 35,
                                   .completion_tokens = 10,
                                   .retrievals = 4,
                                   .unread = 2,
                                   .cut = 2,
                                   .thinking_tokens = 5};
  whole.trees.ledger.execution.ungoverned["rollout"] = 2;
  whole.trees.pruned[2] = 6;
  whole.seconds = 3;
  whole.trees.choices = 12, first.trees.choices = 4, second.trees.choices = 8;
  first.add(0, answered(1)), first.add(1, answered(0.25));
  second.add(0, answered(0.5));
  whole.add(0, answered(1)), whole.add(1, answered(0.5)), whole.add(2, answered(0.25));
  first.notes["rft.jsonl"] = "2 steps were left out";
  second.notes["rft.jsonl"] = "11 steps were left out";
  whole.notes["rft.jsonl"] = "13 steps were left out";
  first.notes["answers.jsonl"] = "a server is slow";
  second.notes["answers.jsonl"] = "a server is old";
  whole.notes["answers.jsonl"] = "a server is slow; a server is old";
  MergedSummary merged;
  merged.add(write(folder, "first.json", first.json()));
  merged.add(write(folder, "second.json", second.json()));
  merged.add_answers(write(folder, "answers.jsonl", row_json("a", 1) + row_json("b", 0.5) + row_json("c", 0.25)));
  CHECK(merged.summary.json() == whole.json());
  CHECK(whole.json().find("exploration changed none of 12 choices") != std::string::npos);
}

TEST_CASE("a warning of one shard that another one contradicts is gone from the whole") {
  const TemporaryFolder folder;
  Summary first = shard(2, 0, "a"), second = shard(3, 0, "b");
  first.trees.choices = 4;
  second.trees.choices = 8, second.trees.explored = 1;
  MergedSummary merged;
  merged.add(write(folder, "first.json", first.json()));
  CHECK(first.json().find("exploration changed none of 4") != std::string::npos);
  merged.add(write(folder, "second.json", second.json()));
  CHECK(merged.summary.json().find("exploration changed") == std::string::npos);
}

TEST_CASE("a summary that is none is named") {
  const TemporaryFolder folder;
  MergedSummary merged;
  const std::string list = write(folder, "list.json", "[]"), other = write(folder, "other.json", R"({"method":"m"})");
  CHECK_THROWS_WITH_AS(merged.add(list), (list + ": is not a JSON object").c_str(), InputError);
  CHECK_THROWS_WITH_AS(merged.add(other), (other + ": field 'model': is missing").c_str(), InputError);
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

}  // namespace merge_test
