#include <espalier/method/prorag/group_rollouts.hpp>
#include <espalier/method/prorag/prompts.hpp>
#include <espalier/method/prorag/step_rows.hpp>

#include "../output/small_tree.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

#include <string>

namespace step_rows_test {

using namespace espalier;
using rag::SegmentKind;
using testing::holds;

namespace {

/// A tree for "Capital of Grèce?" (gold: Athens) from lists of steps.
class Grown : public testing::SmallTree {
 public:
  Grown() : SmallTree({"Athens"}, "Capital of Grèce?") {}
  NodeId add(NodeId parent, SegmentKind kind, const std::string& text, double value = 0, std::uint32_t visits = 1,
             const std::string& thought = "so") {
    const NodeId id = SmallTree::add(parent, kind, text, thought, 1, {Passage("d", "T", "<answer>42</answer>", 1)});
    tree[id].total = value * visits;
    tree[id].visits = visits;
    tree[id].evaluated = true;
    return id;
  }
  [[nodiscard]] output::TreeRecord record() const { return {tree, "prorag", 1, "{}"}; }
};

/// 1 query - 3 conclusion - 4 Athens, 5 Sparta; 2 Athens without a thought.
Grown small() {
  Grown g;
  g.add(0, SegmentKind::query, "capital of Greece", 0.5, 4);
  g.add(0, SegmentKind::answer, "Athens", 1, 1, "");
  g.add(1, SegmentKind::sub_answer, "It is Athens.", 0.6, 3);
  g.add(3, SegmentKind::answer, "Athens", 1, 2);
  g.add(3, SegmentKind::answer, "Sparta", 0, 1);
  return g;
}
std::ptrdiff_t count(const std::string& text, const std::string& part) {
  std::ptrdiff_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}
const rag::PromptSet prompts = method::prorag_prompts();

}  // namespace

TEST_CASE("control marks weigh more in the loss (Eq. 1), in code points") {
  const auto spans = [](std::string_view text, double lambda = 0) {
    std::string out;
    std::size_t end = 0;
    for (const auto& s : method::detail::token_weights(text, *prompts.protocol(), lambda)) {
      CHECK(s.begin == end);
      end = s.end;
      out += std::to_string(s.begin) + '-' + std::to_string(s.end) + '*' + std::to_string(static_cast<int>(s.weight)) +
             ' ';
    }
    CHECK(end == output::detail::code_points(text));
    return out;
  };
  CHECK(spans("<step> é </step>\n<answer> b </answer>") == "0-9*1 9-16*2 16-17*1 17-25*5 25-28*1 28-37*5 ");
  CHECK(spans("<step> a </step>\n<subquery> b </subquery>") == "0-9*1 9-16*2 16-17*1 17-27*3 27-30*1 30-41*3 ");
  CHECK(spans("</step><subanswer>x</subanswer>") == "0-7*2 7-18*3 18-19*1 19-31*3 ");
  CHECK(spans("plain") == "0-5*1 ");
  CHECK(spans("").empty());
  CHECK(spans("<step> é </step>\n<answer> b </answer>", 2) == "0-6*2 6-9*1 9-16*2 16-17*1 17-25*2 25-28*1 28-37*2 ");
  CHECK(spans("<step>x</step><subanswer>", 3) == "0-6*3 6-7*1 7-25*3 ");
}

TEST_CASE("a judged pair becomes a row with both steps, what the search knew of them, and the reason") {
  Grown g = small();
  std::string rows;
  method::append_prm_pairs(g.record(), prompts, rows);
  CHECK(rows.empty());
  g.tree.annotate("preferred_over", 4, 5);
  g.tree.annotate("process_reward", 4, 0.75);
  g.tree.remarks.push_back({"preferred_over", 4, "It follows."});
  method::append_prm_pairs(g.record(), prompts, rows);
  CHECK(count(rows, "\n") == 1);
  CHECK(rows.starts_with(
      R"({"id":"q1#4>5","type":"answer","input":{"question":"Capital of Grèce?","history":"<step> so </step>\n<subquery> capital of Greece </subquery>\n<retrieval>\nDoc 1(Title: T) &lt;answer>42&lt;/answer>\n</retrieval>\n<step> so </step>\n<subanswer> It is Athens. </subanswer>\n"},)"
      R"("chosen":{"new_step":"<step> so </step>\n<answer> Athens </answer>","mcts_stats":{"q":1,"n":2}},)"
      R"("rejected":{"new_step":"<step> so </step>\n<answer> Sparta </answer>","mcts_stats":{"q":0,"n":1}},)"
      R"("label":{"reason":"It follows.","chosen_reward":0.75,"rejected_reward":null},"provenance":{)"));
}

TEST_CASE(
    "refinement takes the steps of right paths that score above the threshold, and counts those without a score") {
  Grown g = small();
  std::string rows;
  CHECK(method::append_rft_rows(g.record(), prompts, {}, rows) ==
        3);  // 1, 3, 4; the answer without a thought keeps no schema
  CHECK(rows.empty());
  g.tree.annotate("process_reward", 1, 0);  // not above
  g.tree.annotate("process_reward", 4, 0.1);
  g.tree.annotate("process_reward", 5, 1);  // wrong answer
  g.tree.annotate("process_reward", 2, 1);
  CHECK(method::append_rft_rows(g.record(), prompts, {}, rows) == 1);
  CHECK(count(rows, "\n") == 1);
  CHECK(holds(rows, R"("id":"q1#4")"));
  CHECK(holds(rows, R"(<subanswer> It is Athens. </subanswer>\n)"));  // histories hold what was said
  CHECK(holds(rows, R"("output":"<step> so </step>\n<answer> Athens </answer>")"));
  rows.clear();
  method::append_rft_rows(g.record(), prompts, {.threshold = -0.5}, rows);
  CHECK(count(rows, "\n") == 2);
}

TEST_CASE("cold-start rows are the steps of one right path, each with its prompt and weights") {
  const Grown g = small();
  std::string rows;
  method::append_step_sft_rows(g.record(), prompts, {.choice = output::ChainChoice::most}, 0, rows);
  CHECK(count(rows, "\n") == 3);
  CHECK(holds(
      rows,
      R"("completion":"<step> so </step>\n<answer> Athens </answer>","weights":[[0,10,1],[10,17,2],[17,18,1],[18,26,5],[26,34,1],[34,43,5]])"));
  CHECK(count(rows, "### Steps so far") == 3);
  CHECK(count(rows, R"((nothing yet)\n)") == 1);
  rows.clear();
  method::append_step_sft_rows(g.record(), prompts, {.choice = output::ChainChoice::least}, 0, rows);
  CHECK(rows.empty());  // the path without retrieval lacks its thought
}

TEST_CASE("the scoring profile decides which paths are right, and so what is taught") {
  Grown g;
  g.add(0, SegmentKind::query, "capital of Greece");
  g.add(1, SegmentKind::sub_answer, "It is Athens.");
  g.add(2, SegmentKind::answer, "Athens A");  // the article counts in ProRAG's own scoring alone
  for (const NodeId id : {1, 2, 3}) g.tree.annotate("process_reward", id, 1);
  const auto taught = [&](rag::Profile profile) {
    std::string sft, rft;
    method::append_step_sft_rows(g.record(), prompts, {.profile = profile}, 0, sft);
    method::append_rft_rows(g.record(), prompts, {.profile = profile}, rft);
    return std::pair(count(sft, "\n"), count(rft, "\n"));
  };
  using Rows = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  CHECK(taught(rag::Profile::common) == Rows(3, 3));
  CHECK(taught(rag::Profile::prorag) == Rows(0, 0));
}

TEST_CASE("a group's rows hold spans of the policy's own text and the advantages of Eq. 5-8") {
  Grown g;
  g.add(0, SegmentKind::query, "x");
  g.add(1, SegmentKind::sub_answer, "y");
  g.add(2, SegmentKind::answer, "Athens");
  g.add(0, SegmentKind::answer, "Sparta", 0, 1, "");
  for (const NodeId id : {1, 2, 3}) g.tree.annotate("process_reward", id, 0.5);
  g.tree.annotate("process_reward", 4, -0.5);
  std::string rows;
  method::append_group_rollouts(g.record(), prompts, {}, rag::Profile::common, rows);
  CHECK(count(rows, "\n") == 2);
  // Outcomes 1 + 1 and 0 + 0: +-1 / 1.4143136. Steps 1.5 three times and -0.5: mean 1, sample deviation 1.
  for (
      const char* part :
      {R"("id":"q1#0","group":"q1")",
       R"("answer":"Athens","f1":1,"well_formed":true,"outcome_reward":2,"steps":[{"type":"query","span":[0,42],"well_formed":true,"process_reward":0.5,"step_reward":1.5,"advantage":0.857)",
       R"("answer":"Sparta","f1":0,"well_formed":false,"outcome_reward":0,"steps":[{"type":"answer","span":[0,25],"well_formed":false,"process_reward":-0.5,"step_reward":-0.5,"advantage":-1.157)"})
    CHECK_MESSAGE(holds(rows, part), part);
  // The second step begins behind the documents: 42 + 1, and the block <retrieval> ... </retrieval> with its line ends.
  const auto block = std::string("<retrieval>\nDoc 1(Title: T) &lt;answer>42&lt;/answer>\n</retrieval>\n").size();
  CHECK(holds(rows, R"("type":"sub_answer","span":[)" + std::to_string(43 + block) + ","));
}

TEST_CASE("a child that is preferred over several siblings gives a row for each") {
  Grown g = small();
  g.add(3, SegmentKind::answer, "Thebes");
  g.tree.annotate("preferred_over", 4, 5);
  g.tree.annotate("preferred_over.2", 4, 6);
  g.tree.remarks.push_back({"preferred_over.2", 4, "Thebes is not it."});
  std::string rows;
  method::append_prm_pairs(g.record(), prompts, rows);
  CHECK(count(rows, "\n") == 2);
  CHECK(rows.find(R"("id":"q1#4>5")") < rows.find(R"("id":"q1#4>6")"));
  CHECK(rows.find(R"("reason":"Thebes is not it.")") > rows.find(R"("id":"q1#4>6")"));
}

TEST_CASE("a group keeps a trajectory whose first step could not be read: outcome 0, its words and its advantage") {
  Grown g;
  g.add(0, SegmentKind::answer, "Athens");
  g.add(0, SegmentKind::answer, "Sparta");
  g.add(0, SegmentKind::answer, "Thebes");
  const NodeId unread =
      g.tree.add(0, rag::Action(SegmentKind::answer, "It is <b> Athens", "", ""), g.tree.state(0), 0, 1);
  g.tree.prune(unread, Reason::malformed);
  std::string rows;
  method::append_group_rollouts(g.record(), prompts, {}, rag::Profile::common, rows);
  CHECK(count(rows, "\n") == 4);
  // Eq. 6: 1 + 1, 0 + 1, 0 + 1 and 0 + 0. Mean 1, sample deviation sqrt(2 / 3): 1 / 0.8165966 = 1.2246, 0, 0, -1.2246.
  CHECK(count(rows, R"("advantage":1.2245)") == 1);
  CHECK(count(rows, R"("advantage":0})") == 2);
  CHECK(holds(
      rows,
      R"("response":"It is <b> Athens\n","answer":null,"f1":0,"well_formed":false,"outcome_reward":0,"steps":[{"type":"malformed","span":[0,16],"well_formed":false,"process_reward":null,"step_reward":null,"advantage":-1.2245)"));
}

TEST_CASE("a trajectory that bypasses retrieval has a bonus in the code, and none in the text") {
  Grown g;
  g.add(0, SegmentKind::query, "x");
  g.add(1, SegmentKind::sub_answer, "y");
  g.add(2, SegmentKind::answer, "Athens");
  g.add(0, SegmentKind::answer, "Athens");
  for (const auto bonus : {method::AdvantageOptions::Bonus::always, method::AdvantageOptions::Bonus::retrieved}) {
    std::string rows;
    method::append_group_rollouts(g.record(), prompts, {.bonus = bonus}, rag::Profile::common, rows);
    CHECK(count(rows, R"("well_formed":true,"outcome_reward":2,)") == 2 - static_cast<int>(bonus));
    CHECK(count(rows, R"("well_formed":true,"outcome_reward":1,)") == static_cast<int>(bonus));
  }
}

TEST_CASE("a group's F1 is that of the profile") {
  Grown g;
  g.add(0, SegmentKind::answer, "the Athens");
  const auto f1 = [&](rag::Profile profile) {
    std::string rows;
    method::append_group_rollouts(g.record(), prompts, {}, profile, rows);
    return rows;
  };
  CHECK(holds(f1(rag::Profile::common), R"("f1":1,)"));
  CHECK(holds(f1(rag::Profile::prorag), R"("f1":0.666)"));  // the article counts: 2 * 0.5 * 1 / 1.5
}

}  // namespace step_rows_test
