#include <espalier/method/reasonrag/face.hpp>
#include <espalier/method/reasonrag/process_rewards.hpp>
#include <espalier/method/reasonrag/search.hpp>

#include "scripted.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace reasonrag_test {

using namespace espalier;
using namespace espalier::testing;

namespace {

Scripted script() {
  Scripted model;
  model.on("begin_reasoning", [](const Prompt& p) {
    return p.sample() % 2 ? "I know. <answer> Lyon </answer>" : "Look. <query> capital of France </query>";
  });
  model.on("evidence", "<evidence> It is Paris. </evidence>")
      .on("reasoning", "So. <answer> Paris </answer>")
      .on("forced_answer", "<answer> Paris </answer>");
  model.on("judge", [](const Prompt& p) {
    return holds(*p.slot("history"), "It is Paris") ? "<score>80</score>" : "<score> 60 </score>";
  });
  return model;
}

rag::Tree grow(const method::ReasonRagOptions& options, Scripted model, double temperature = 1) {
  Scheduler scheduler;
  const ModelPort models = scheduler.model(std::move(model), Scheduler::unlimited);
  const RetrieverPort documents = scheduler.retriever([](std::span<const Query> queries) {
    return std::vector<Passages>(queries.size(), Passages{Passage("d", "France", "<answer>42</answer>", 1)});
  });
  const rag::Environment loop(
      rag::Sampler(models, method::reasonrag_prompts(), {.sampling = {.temperature = temperature}}), documents, {});
  method::ReasonRag search(options, loop, rag::AnyReward(rag::F1()));
  return scheduler.run(search(rag::State(testing::capital()), 7));
}

}  // namespace

TEST_CASE("five simulations of ReasonRAG, worked out by hand") {
  const rag::Tree tree = grow({.simulations = 5}, script());
  // 0: the query, judged 60. 1: the answer Lyon, judged 60. 2: both have 0.6 + w sqrt(ln 2), the query is older: its
  // evidence, judged 80. 3: the query has 0.7 + w sqrt(ln 3 / 2) = 1.748, Lyon 0.6 + w sqrt(ln 3) = 2.082: its 60 once
  // more. 4: 1.877 against 1.777; the query's second evidence says the same, so the first one grows: Paris, judged 80.
  REQUIRE(testing::kinds(tree, {1, 2, 3, 4}) == "query answer sub_answer answer");
  CHECK(testing::texts(tree) == "capital of France | Lyon | It is Paris. | Paris");
  CHECK(tree[1].total == doctest::Approx(0.6 + 0.8 + 0.8));  // the judge alone, not Paris' 0.95^3
  CHECK(tree[2].total == doctest::Approx(1.2));
  CHECK(tree[0].visits == 5);
  CHECK(tree[1].visits == 3);
  CHECK(*output::rewards(tree)[4] == doctest::Approx(0.857375));  // noted beside it: 0.95^3
  CHECK(*output::rewards(tree)[2] == 0);
  CHECK(output::best_answer(tree)->text == "Paris");

  const auto rewards = method::process_rewards(tree, {});
  CHECK(*rewards[4] == doctest::Approx(0.729));  // 1 * 0.9^3
  CHECK(*rewards[3] == doctest::Approx(0.729));
  CHECK(*rewards[1] == doctest::Approx(0.729));
  CHECK(*rewards[2] == 0);
  CHECK(*rewards[0] == doctest::Approx(0.4374));  // (3 * 0.729 + 2 * 0) / 5

  std::string rows;
  method::append_sibling_pairs({tree, "reasonrag", 7, "{}"}, method::reasonrag_prompts(), {}, rows);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 1);
  for (const char* part :
       {R"("chosen":"Look.\n<query> capital of France </query>","rejected":"I know.\n<answer> Lyon </answer>")",
        R"("chosen_action_type":"query")", R"("layer":1)"})
    CHECK_MESSAGE(holds(rows, part), part);
  rows.clear();
  method::append_sibling_pairs({tree, "reasonrag", 7, "{}"}, method::reasonrag_prompts(), {.margin = 0.73}, rows);
  CHECK(rows.empty());
}

TEST_CASE("the prompt of every pair is the one that its steps were drawn with, documents included") {
  Scripted model = script();
  std::vector<std::string> asked;
  const auto noted = [&](const Prompt& p, const char* reply) {
    asked.push_back(p.text());
    return std::string(reply);
  };
  model.on("begin_reasoning", [&](const Prompt& p) { return noted(p, "Look. <query> capital of France </query>"); })
      .on("evidence",
          [&](const Prompt& p) {
            return noted(p,
                         p.sample() % 2 ? "<evidence> It is Lyon. </evidence>" : "<evidence> It is Paris. </evidence>");
          })
      .on("forced_answer", [&](const Prompt& p) {
        const bool right = holds(*p.slot("history"), "It is Paris");
        return noted(p, right == (p.sample() % 2 == 0) ? "<answer> Paris </answer>" : "<answer> Lyon </answer>");
      });
  const rag::Tree tree = grow({.simulations = 20, .max_rounds = 1}, std::move(model));
  std::string rows;
  method::append_sibling_pairs({tree, "reasonrag", 7, "{}"}, method::reasonrag_prompts(), {}, rows);
  std::istringstream lines(rows);
  int evidence = 0, forced = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto is_prompt = [&](const std::string& text) {
      std::string json;
      JsonWriter(json).value(text);
      return holds(line, "\"prompt\":" + json);
    };
    const auto found = std::find_if(asked.begin(), asked.end(), is_prompt);
    REQUIRE(found != asked.end());
    evidence += holds(*found, "&lt;answer>42&lt;/answer>");  // the document
    forced += holds(*found, "No more searches are possible");
  }
  CHECK(evidence == 1);
  CHECK(forced >= 1);
}

TEST_CASE("leaves without an answer have no reward, or their own value; forced answers have none in the code") {
  using Leaves = method::ProcessRewardOptions::Leaves;
  rag::Example example;
  example.question = {"q", "?"};
  example.gold = {"yes"};
  rag::Tree tree(rag::State(example), Seed(1));
  const auto add = [&](rag::SegmentKind kind, const char* text, bool forced, double value) {
    const NodeId id = tree.add(0, rag::Action(kind, text, "", text, forced),
                               tree.state(0).with(rag::Segment(kind, rag::ModelText(text))), 0, 1);
    tree[id].visits = 1, tree[id].total = value;
  };
  add(rag::SegmentKind::query, "q", false, 0.8);
  add(rag::SegmentKind::answer, "the yes", false, 0.5);
  add(rag::SegmentKind::answer, "yes", true, 0.5);
  tree[0].visits = 3;
  const auto root = [&](Leaves leaves) { return *method::process_rewards(tree, {.leaves = leaves})[0]; };
  CHECK(root(Leaves::answers) == doctest::Approx(0.9));                // 0.9 and 0.9
  CHECK(root(Leaves::free) == doctest::Approx(0.9));                   // 0.9
  CHECK(root(Leaves::all) == doctest::Approx((0.8 + 0.9 + 0.9) / 3));  // 0.8 as well
  CHECK_FALSE(method::process_rewards(tree, {})[1]);
  CHECK_FALSE(method::process_rewards(tree, {.leaves = Leaves::free})[3]);
  // The published F1 keeps articles, and a wrong yes or no is worth 0: "the yes" is not "yes".
  CHECK(*method::process_rewards(tree, {.leaves = Leaves::free, .profile = rag::Profile::reasonrag})[0] == 0);
}

TEST_CASE("a judge that gives no score in its range closes the branch and is never a zero") {
  for (const char* text :
       {"quite good", "<score>85/100</score>", "<score>nan</score>", "<score>101</score>", "<score></score>"}) {
    CAPTURE(text);
    const rag::Tree tree = grow({.simulations = 2}, script().on("judge", text));
    CHECK(tree[1].status == Status::pruned);
    CHECK(tree[1].reason == Reason::malformed);
    CHECK(tree[1].visits == 0);
    CHECK(tree.ledger.by_purpose().at("judge").completions == 6);  // each of two states, drawn again twice
  }
}

TEST_CASE("values of rollouts shrink with every step of the path") {
  const rag::Tree tree =
      grow({.simulations = 2, .value = method::ReasonRagOptions::Value::rollouts, .decay = 0.9}, script());
  CHECK(tree[1].total == doctest::Approx(0.729));  // query, evidence, Paris
  CHECK(tree.ledger.by_purpose().count("judge") == 0);
}

TEST_CASE("a model that never stops searching is made to answer after the last round") {
  Scripted model = script();
  model.on("begin_reasoning", "<query> again </query>").on("reasoning", "<query> again </query>");
  const rag::Tree tree = grow({.simulations = 40, .children = 1, .max_rounds = 2}, std::move(model));
  const NodeId last = static_cast<NodeId>(tree.size() - 1);
  CHECK(tree.action(last).forced);
  CHECK(tree.state(last).retrievals() == 2);
}

TEST_CASE(
    "with a last word, the seventh node of a path is drawn freely, and only below its query is an answer forced") {
  const auto path = [](const char* seventh) {
    Scripted model = script();
    model.on("begin_reasoning", "<query> one </query>").on("reasoning", [seventh](const Prompt& p) {
      const std::string_view history = *p.slot("history");
      std::size_t found = 0;
      for (auto at = history.find("It is Paris"); at != history.npos; at = history.find("It is Paris", at + 1)) ++found;
      return std::string(found < 3 ? "<query> more </query>" : seventh);
    });
    return grow({.simulations = 12, .children = 1, .max_rounds = 3, .last_word = true}, std::move(model));
  };
  using Leaves = method::ProcessRewardOptions::Leaves;
  const rag::Tree answered = path("<answer> Paris </answer>");
  REQUIRE(answered.size() == 8);  // query and evidence three times, then the answer
  CHECK_FALSE(answered.action(7).forced);
  CHECK(*method::process_rewards(answered, {.leaves = Leaves::free})[7] == doctest::Approx(0.4782969));  // 0.9^7
  CHECK(*method::process_rewards(answered, {.leaves = Leaves::free})[0] == doctest::Approx(0.4782969));

  const rag::Tree asked = path("<query> once more </query>");
  REQUIRE(asked.size() == 9);
  CHECK(asked.action(7).text == "once more");
  CHECK(asked.state(7).retrievals() == 3);  // it is not sent
  CHECK(asked.ledger.total().retrievals == 3);
  CHECK(asked.action(8).forced);
  CHECK(asked.state(8).answer() == "Paris");
  CHECK_FALSE(method::process_rewards(asked, {.leaves = Leaves::free})[0]);
  CHECK(*method::process_rewards(asked, {})[0] == doctest::Approx(0.43046721));  // 0.9^8
}

TEST_CASE("agreement of rollouts needs no gold, a judge does") {
  method::detail::ReasonRagFace face;
  face.options().set("value", "rollouts");
  CHECK(face.needs_gold());
  face.options().set("reward", "agreement");
  CHECK_FALSE(face.needs_gold());
  face.options().set("value", "judge");
  CHECK(face.needs_gold());
}

TEST_CASE("the presets of ReasonRAG differ as its page says") {
  method::detail::ReasonRagFace paper, code;
  paper.preset("paper");
  code.preset("code");
  CHECK(holds(paper.options().json(), R"("value":"rollouts","n":1,"decay":0.9,"alpha":0.9,"leaves":"all")"));
  for (const char* part :
       {R"("value":"judge","n":1,"decay":0.95,"alpha":0.9,"leaves":"free")",
        R"("c":1.414,"max_rounds":3,"last_word":true,"answer_rounds":4)", R"("profile":"reasonrag")"})
    CHECK_MESSAGE(holds(code.options().json(), part), part);
  code.options().set("leaves", "all");
  CHECK_THROWS_AS(code.check(), std::invalid_argument);
  CHECK_THROWS_WITH_AS(code.preset("codex"), "option 'preset' is codex, allowed: paper, code", std::invalid_argument);
}

}  // namespace reasonrag_test
