#include "scripted.hpp"

#include <espalier/method/reason_rag.hpp>
#include <espalier/output/process_rewards.hpp>
#include <espalier/run/reason.hpp>

#include <doctest/doctest.h>

namespace reason_rag_test {

using namespace espalier;
using testing::Scripted;

namespace {

Scripted script() {
  Scripted model;
  model.on("begin_reasoning", [](const Prompt& p) { return p.sample() % 2 ? "I know. <answer> Lyon </answer>" : "Look. <query> capital of France </query>"; });
  model.on("evidence", "<evidence> It is Paris. </evidence>").on("reasoning", "So. <answer> Paris </answer>").on("forced_answer", "<answer> Paris </answer>");
  model.on("judge", [](const Prompt& p) { return p.slot("history")->find("It is Paris") == std::string_view::npos ? "<score> 60 </score>" : "<score>80</score>"; });
  return model;
}

rag::Tree grow(const method::ReasonRagOptions& options, Scripted model, double temperature = 1) {
  Scheduler scheduler;
  const ModelPort models = scheduler.model(std::move(model), Scheduler::unlimited);
  const RetrieverPort documents = scheduler.retriever([](std::span<const Query> queries) {
    return std::vector<Passages>(queries.size(), Passages{Passage("d", "France", "<answer>42</answer>", 1)});
  });
  const rag::Environment loop(rag::Sampler(models, method::reason_prompts(), {.sampling = {.temperature = temperature}}), documents, {});
  method::ReasonRag search(options, loop, rag::AnyReward(rag::F1()));
  rag::Example example;
  example.question = {"q1", "Capital of France?"};
  example.gold = {"Paris"};
  return scheduler.run(search(rag::State(example), 7));
}

}  // namespace

TEST_CASE("four simulations of ReasonRAG, worked out by hand") {
  const rag::Tree tree = grow({.simulations = 4}, script());
  // 0: the query, judged 60. 1: the answer Lyon, F1 0. 2: the evidence, judged 80. 3: the query's second evidence says the
  // same, so the first one grows: Paris, three steps from the root, 0.95^3.
  REQUIRE(tree.size() == 5);
  CHECK(tree.action(1).text == "capital of France");
  CHECK(tree.action(2).text == "Lyon");
  CHECK(tree.action(3).kind == rag::SegmentKind::sub_answer);
  CHECK(tree.action(4).text == "Paris");
  CHECK(tree[1].total == doctest::Approx(0.6 + 0.8 + 0.857375));
  CHECK(tree[2].total == 0);
  CHECK(tree[4].total == doctest::Approx(0.857375));
  CHECK(tree[0].visits == 4);
  CHECK(tree[1].visits == 3);

  const auto rewards = output::process_rewards(tree, 0.9);
  CHECK(*rewards[4] == doctest::Approx(0.729));  // 1 * 0.9^3
  CHECK(*rewards[3] == doctest::Approx(0.729));
  CHECK(*rewards[1] == doctest::Approx(0.729));
  CHECK(*rewards[2] == 0);
  CHECK(*rewards[0] == doctest::Approx(0.54675));  // (3 * 0.729 + 1 * 0) / 4

  std::string rows;
  output::append_sibling_pairs({tree, "reasonrag", 7, "{}"}, method::reason_prompts(), {}, rows);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 1);
  CHECK(rows.find(R"("chosen":"Look.\n<query> capital of France </query>","rejected":"I know.\n<answer> Lyon </answer>")") != std::string::npos);
  CHECK(rows.find(R"("chosen_action_type":"query")") != std::string::npos);
  CHECK(rows.find(R"("layer":1)") != std::string::npos);
  rows.clear();
  output::append_sibling_pairs({tree, "reasonrag", 7, "{}"}, method::reason_prompts(), {.margin = 0.73}, rows);
  CHECK(rows.empty());
}

TEST_CASE("a judge that gives no score in its range closes the branch and is never a zero") {
  for (const char* text : {"quite good", "<score>85/100</score>", "<score>nan</score>", "<score>101</score>", "<score></score>"}) {
    CAPTURE(text);
    const rag::Tree tree = grow({.simulations = 2}, script().on("judge", text));
    CHECK(tree[1].status == Status::pruned);
    CHECK(tree[1].reason == Reason::malformed);
    CHECK(tree[1].visits == 0);
    CHECK(tree.ledger.by_purpose().at("judge").completions == 3);  // drawn again twice
  }
}

TEST_CASE("values of rollouts shrink with every step of the path") {
  const rag::Tree tree = grow({.simulations = 2, .value = method::ReasonRagOptions::Value::rollouts, .decay = 0.9}, script());
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

TEST_CASE("the presets of ReasonRAG differ as its page says") {
  run::ReasonRagMethod paper, code;
  paper.preset("paper");
  code.preset("code");
  CHECK(paper.options().json().find(R"("value":"rollouts","n":1,"decay":0.9,"alpha":0.9)") != std::string::npos);
  CHECK(code.options().json().find(R"("value":"judge","n":1,"decay":0.95,"alpha":0.9)") != std::string::npos);
  CHECK_THROWS_WITH_AS(code.preset("codex"), "option 'preset' is codex, allowed: paper, code", std::invalid_argument);
}

}  // namespace reason_rag_test
