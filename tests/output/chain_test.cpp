#include <espalier/output/answers.hpp>
#include <espalier/output/chain.hpp>

#include "small_tree.hpp"
#include <doctest/doctest.h>

#include <set>

namespace chain_test {

using namespace espalier;
using namespace espalier::testing;
using output::ChainChoice;

namespace {

/// Full-Node in small: four chains of one, two, no and one retrievals; the first three are right.
///   1 query -> 2 answer "Rome" [1]; 3 query -> 4 query -> 5 answer "Rome" [0.8]; 6 answer "rome." [1], prior 0.75;
///   7 query -> 8 answer "Oslo" [0]
SmallTree four_chains() {
  SmallTree t({"Rome"});
  t.add(0, SegmentKind::query, "a", "", 0.5F, {document("d1", "x")});
  t.add(1, SegmentKind::answer, "Rome", "", 0.5F);
  t.add(0, SegmentKind::query, "b", "", 0.5F, {document("d1", "x")});
  t.add(3, SegmentKind::query, "c", "", 0.5F, {document("d1", "x")});
  t.add(4, SegmentKind::answer, "Rome", "", 0.5F);
  t.add(0, SegmentKind::answer, "rome.", "", 0.75F);
  t.add(0, SegmentKind::query, "d", "", 0.5F, {document("d1", "x")});
  t.add(7, SegmentKind::answer, "Oslo", "", 1);
  t.evaluate(2, {{"", 1}});
  t.evaluate(5, {{"", 0.8}});
  t.evaluate(6, {{"", 1}});
  t.evaluate(8, {{"", 0}});
  return t;
}

}  // namespace

TEST_CASE("a reward is the mean of a node's own rollouts, not of what its children passed up") {
  const SmallTree t = two_rounds();
  const auto own = output::rewards(t.tree);
  CHECK_FALSE(own[0]);
  CHECK(own[1] == 0.75);
  CHECK_FALSE(own[5]);
  CHECK(own[12] == 1);
  CHECK(own[13] == 0);
  CHECK(t.tree[1].mean() != 0.75);
}

TEST_CASE("the best answer has the highest reward, then the higher prior, then the greater age") {
  SmallTree t = four_chains();
  CHECK(output::complete_chains(t.tree) == std::vector<NodeId>{2, 5, 6, 8});
  auto best = output::best_answer(t.tree);
  REQUIRE(best);
  CHECK(best->node == 6);
  CHECK(best->text == "rome.");
  CHECK(best->value == 1);
  CHECK(best->complete);
  t.tree[6].prior = 0.5F;
  CHECK(output::best_answer(t.tree)->node == 2);
  t.tree.prune(2, Reason::not_best);
  t.tree.prune(6, Reason::not_best);
  CHECK(output::best_answer(t.tree)->node == 5);
}

TEST_CASE("among correct chains: the best, the most and the fewest retrievals, or one by the tree's seed") {
  const SmallTree t = four_chains();
  CHECK(output::correct_chain(t.tree, ChainChoice::best) == NodeId(6));
  CHECK(output::correct_chain(t.tree, ChainChoice::most) == NodeId(5));
  CHECK(output::correct_chain(t.tree, ChainChoice::least) == NodeId(6));
  std::set<NodeId> drawn;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    SmallTree copy = four_chains();
    copy.tree.seed = Seed(seed);
    const auto chosen = output::correct_chain(copy.tree, ChainChoice::random);
    CHECK(chosen == output::correct_chain(copy.tree, ChainChoice::random));
    drawn.insert(*chosen);
  }
  CHECK(drawn == std::set<NodeId>{2, 5, 6});
  // ProRAG's form keeps the full stop: "rome." is not "Rome" there.
  CHECK(output::correct_chain(t.tree, ChainChoice::least, rag::Profile::prorag) == NodeId(2));
}

TEST_CASE("without a correct answer, or without gold, no chain is chosen") {
  CHECK_FALSE(output::correct_chain(two_rounds("", "Basel").tree, ChainChoice::best));
  SmallTree t({});
  t.add(0, SegmentKind::answer, "Rome");
  CHECK_FALSE(output::correct_chain(t.tree, ChainChoice::best));
  CHECK(output::best_answer(t.tree)->text == "Rome");
  CHECK(output::best_answer(t.tree)->value == 0);
}

TEST_CASE("if no chain is complete, the rollouts of the best node vote") {
  SmallTree t({"Rome"});
  t.add(0, SegmentKind::sub_question, "a");
  t.add(0, SegmentKind::sub_question, "b");
  t.add(0, SegmentKind::sub_question, "c");
  t.evaluate(1, {{"Oslo", 0.25}, {"Paris", 0.25}});
  t.evaluate(2, {{"Oslo", 0}, {"The Rome", 1}, {"", 0}, {"rome!", 1}});  // mean 0.5; two answers for "rome"
  t.evaluate(3, {{"", 1}});                                              // worth more, but answered nothing
  t.tree.ending = SearchFacts::Ending::budget;
  const auto best = output::best_answer(t.tree);
  REQUIRE(best);
  CHECK(best->node == 2);
  CHECK(best->text == "The Rome");
  CHECK(best->value == 0.5);
  CHECK_FALSE(best->complete);
  const auto row = output::detail::answer_row(t.record());
  CHECK(row.status == "budget");
  CHECK(row.em == 1.0);
}

TEST_CASE("at a tie of votes the first answer is taken") {
  SmallTree t({"x"});
  t.add(0, SegmentKind::sub_question, "a");
  t.evaluate(1, {{"zeta", 0}, {"alpha", 0}});
  CHECK(output::best_answer(t.tree)->text == "zeta");
}

TEST_CASE("an answer's row holds the scores, the status and the logical costs") {
  std::string out;
  output::detail::append_answer_row(output::detail::answer_row(two_rounds("", "the Zurich town").record()), out);
  // "zurich town" against "zurich": precision 1/2, recall 1, F1 2/3; the gold stands in it.
  CHECK(
      out ==
      R"({"id":"q1","question":"Où est née la mère d'Ada ?","answer":"the Zurich town","status":"done","error":null,"em":0,)"
      R"("f1":0.6666666666666666,"acc":1,"completions":18,"prompt_tokens":4300,"completion_tokens":560,"retrievals":3})"
      "\n");
}

TEST_CASE(
    "a null prediction scores 0, a search without gold has no scores, an open question has neither scores nor costs") {
  SmallTree none({"Rome"});
  none.add_malformed(0, SegmentKind::answer, "no tag");
  const auto null_row = output::detail::answer_row(none.record());
  CHECK_FALSE(null_row.answer);
  CHECK(null_row.status == "failed");
  CHECK(null_row.error == "no reply of the model could be read as an answer");
  CHECK(null_row.em == 0.0);
  CHECK(null_row.f1 == 0.0);
  CHECK(null_row.acc == 0.0);
  none.tree.ledger["own_answer"] = {4, 40, 8, 0, 1};
  none.tree.ledger["rollout"] = {6, 60, 12, 0, 0};
  for (int i = 0; i < 3; ++i)
    none.tree.ledger.add_unread("rollout", Ledger::Unread("I would say\n\"Rome\".", 0, Seed(1).child(1), 0));
  CHECK(output::detail::answer_row(none.record()).error ==
        "no reply of the model could be read as an answer: 3 of 6 completions of 'rollout' could not be read; the "
        "first: \"I would say\n\"Rome\".\"");
  none.tree.ledger.add_unread("rollout", Ledger::Unread("", 32, Seed(1), 0));
  CHECK(output::detail::answer_row(none.record()).error ==
        "no reply of the model could be read as an answer: 4 of 6 completions of 'rollout' could not be read, 1 of "
        "them cut by max_tokens; "
        "the first, cut at max_tokens=32, is empty");
  none.tree.ending = SearchFacts::Ending::budget;
  CHECK(output::detail::answer_row(none.record()).status == "budget");

  SmallTree unknown({});
  unknown.add(0, SegmentKind::answer, "Rome");
  const auto blind = output::detail::answer_row(unknown.record());
  CHECK(blind.answer == "Rome");
  CHECK(blind.status == "done");
  CHECK_FALSE(blind.em);

  std::string out;
  output::detail::append_answer_row(
      output::detail::open_row({"q9", "Why?"}, std::make_exception_ptr(BackendError("refused"))), out);
  CHECK(
      out ==
      R"({"id":"q9","question":"Why?","answer":null,"status":"open","error":"refused","em":null,"f1":null,"acc":null,)"
      R"("completions":null,"prompt_tokens":null,"completion_tokens":null,"retrievals":null})"
      "\n");
}

}  // namespace chain_test
