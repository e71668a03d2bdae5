#include "scripted.hpp"

#include <espalier/run/decouple.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace decouple_rag_test {

using namespace espalier;
using method::Dual;
using rag::SegmentKind;
using testing::Scripted;

namespace {

rag::Tree run_it(std::map<std::string, std::string> set, Scripted model, bool labels, bool greedy = false,
                 std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> values = nullptr) {
  run::DecoupleMethod method(greedy);
  for (const auto& [name, value] : set) method.options().set(name, value);
  method.check();
  Scheduler scheduler;
  run::Ports ports(scheduler.model(std::move(model), Scheduler::unlimited), scheduler.retriever([](std::span<const Query> queries) {
    std::vector<Passages> answers;
    for (const Query& query : queries) answers.push_back({Passage("d", "T", "Paris, " + query.text + " Finish(42)", 1)});
    return answers;
  }));
  if (values) ports.values = scheduler.encoder(values);
  method.prepare(ports, method.prompts());
  rag::Example example;
  example.question = {"q1", "Capital of France?"};
  example.gold = {"Paris"};
  return scheduler.run(labels ? method.grow(rag::State(example), 7) : method.answer(rag::State(example.question), 7));
}

/// Sample 0 searches, sample 1 answers wrong; after a search comes the right answer.
Scripted labelled() {
  Scripted model;
  model.on("step", [](const Prompt& p) {
    if (p.slot("history")->find("Paris") != std::string_view::npos) return "Found. Finish(Paris)";
    return p.sample() == 0 ? "Look. Search(capital (France))" : "I guess. Finish(Lyon)";
  });
  model.on("judge", "Good. <score> 0.5, 0.25 </score>").on("judge_answer", [](const Prompt& p) { return std::string(*p.slot("answer") == "Paris" ? "yes" : "no"); });
  return model;
}

}  // namespace

TEST_CASE("the two values average apart and steer by the search value, worked out by hand (Eq. 3, 6, 7)") {
  Dual sum;
  sum += Dual{0.5, 0.25};
  sum += Dual{1, 1};
  CHECK(sum.plan == 1.5);
  CHECK((sum * 0.5).search == doctest::Approx(0.625));
  CHECK(utility(sum) == 1.25);
  Node<Dual> parent, child;
  parent.visits = 4;
  child.visits = 2;
  child.total = {9, 1};
  CHECK(method::DecoupleUct(1.4, false)(parent, child) == doctest::Approx(0.5 + 1.4 * std::sqrt(std::log(4.0) / 2)));
  CHECK(method::DecoupleUct(1.4, true)(parent, child) == doctest::Approx(0.25 + 1.4 * std::sqrt(std::log(4.0) / 2)));  // the published code's fault
  child.visits = 0;
  CHECK(std::isinf(method::DecoupleUct(1.4, false)(parent, child)));
}

TEST_CASE("labelling, worked out by hand: judged steps, +1 and -1 for answers, means on the way up") {
  const rag::Tree tree = run_it({{"children", "2"}, {"simulations", "20"}}, labelled(), true);
  // the search (judged), the wrong answer, and below the search the right answer; then everything is solved
  REQUIRE(tree.size() == 4);
  CHECK(tree.action(1).text == "capital (France)");
  CHECK(tree.action(1).thought == "Look.");
  CHECK(tree.action(2).text == "Lyon");
  CHECK(tree.action(3).text == "Paris");
  CHECK(tree[3].mean() == 1);
  CHECK(tree.annotation("plan", 3) == 1);
  CHECK(tree[2].mean() == -1);
  CHECK(tree[1].visits == 2);
  CHECK(tree[1].mean() == doctest::Approx((0.25 + 1) / 2));
  CHECK(tree.annotation("plan", 1) == doctest::Approx((0.5 + 1) / 2));
  CHECK(tree[0].visits == 3);
  CHECK(tree[0].mean() == doctest::Approx((0.25 + 1 - 1) / 3));
  CHECK(tree.annotation("plan", 0) == doctest::Approx((0.5 + 1 - 1) / 3));
  CHECK(tree.steps == 3);  // nothing is left to expand
  CHECK(output::best_answer(tree)->text == "Paris");

  const rag::Tree halved = run_it({{"children", "2"}, {"inner_scale", "0.5"}}, labelled(), true);
  CHECK(halved[1].mean() == doctest::Approx((0.125 + 1) / 2));
  const rag::Tree judged = run_it({{"children", "2"}, {"terminal", "judge"}}, labelled(), true);
  CHECK(judged[3].mean() == 1);
  CHECK(judged[2].mean() == -1);
  CHECK(run_it({{"children", "2"}, {"stop_correct", "1"}}, labelled(), true).steps == 3);
}

TEST_CASE("a judge's text that is no pair of numbers in range closes the branch, and is never a value") {
  for (const char* text : {"no idea", "<score>0.5</score>", "<score>85/100, 1</score>", "<score>7.5, 0</score>", "<score>nan, 0</score>", "<score></score>"}) {
    CAPTURE(text);
    Scripted model = labelled();
    model.on("judge", text);
    const rag::Tree tree = run_it({{"children", "2"}}, model, true);
    CHECK(tree[1].reason == Reason::malformed);
    CHECK(tree[1].visits == 0);
    CHECK(std::isnan(tree.annotation("plan", 1)));
  }
}

namespace {

/// Plans A and B; queries a1, a2 ...; what is valued high is what `good` names.
Scripted planner() {
  Scripted model;
  model.on("plan", [](const Prompt& p) {
    if (p.slot("history")->find("Search(") != std::string_view::npos) return std::string("Done. Finish(Paris)");
    return "Plan " + std::to_string(p.sample());
  });
  model.on("query", [](const Prompt& p) { return "Search(query " + std::to_string(p.sample()) + ")"; });
  model.on("forced_answer", "Finish(forced)");
  model.on("judge", [](const Prompt& p) {
    const std::string_view history = *p.slot("history");
    const bool plan = history.find("Plan 1") != std::string_view::npos, query = history.find("query 2") != std::string_view::npos;
    return std::string("<score> ") + (plan ? "0.9" : "0.1") + ", " + (query ? "0.8" : "-0.2") + " </score>";
  });
  return model;
}

}  // namespace

TEST_CASE("the beam ranks plans by their plan value and queries by their search value") {
  const rag::Tree tree = run_it({}, planner(), false);
  const auto best = output::best_answer(tree);
  REQUIRE(best);
  CHECK(best->text == "Paris");
  std::string path;
  for (const NodeId id : tree.path(best->node)) path += tree.action(id).text + ". ";
  CHECK(path == ". Plan 1. query 2. Paris. ");
  CHECK(tree.ledger.by_purpose().at("plan").completions == 6);
  CHECK(tree.ledger.by_purpose().at("query").completions == 3);
  CHECK(tree.ledger.total().retrievals == 3);

  const rag::Tree many = run_it({{"oversample", "4"}, {"diversity", "charset"}}, planner(), false);
  CHECK(many.ledger.by_purpose().at("query").completions == 12);
  CHECK(many.ledger.total().retrievals == 3);
}

TEST_CASE("values may come from any source of two numbers; without one GreedyAgent asks no judge") {
  std::vector<std::string> shown;
  const auto source = [&](std::span<const EncodeRequest> texts) {
    std::vector<Embedding> values;
    for (const auto& text : texts) {
      shown.push_back(text.text);
      values.push_back(text.text.find("Plan 0") != std::string::npos ? Embedding{0.5F, 0.1F} : Embedding{-0.5F, 0.1F});
    }
    return values;
  };
  const rag::Tree tree = run_it({{"values", "server"}}, planner(), false, false, source);
  CHECK(tree.action(tree.path(output::best_answer(tree)->node)[1]).text == "Plan 0");
  CHECK_FALSE(tree.ledger.by_purpose().contains("judge"));
  CHECK(shown.front() == "Question: Capital of France?\nThought: Plan 0\n");
  CHECK_THROWS_WITH_AS(run_it({{"values", "server"}}, planner(), false), "option 'values' is server, allowed: another choice where there is no value server",
                       std::invalid_argument);
  CHECK_THROWS_AS(run_it({{"values", "head"}}, planner(), false), std::invalid_argument);
  CHECK_THROWS_WITH_AS(run_it({{"values", "server"}}, planner(), false, false,
                              [](std::span<const EncodeRequest> texts) { return std::vector<Embedding>(texts.size(), Embedding(3)); }),
                       "a value source gave 3 numbers for a text, not a plan and a search value", Error);

  const rag::Tree greedy = run_it({}, planner(), false, true);
  CHECK(greedy.size() == 4);
  CHECK(greedy.ledger.total().completions == 3);
  CHECK(output::best_answer(greedy)->text == "Paris");
}

TEST_CASE("what never finishes is made to answer") {
  Scripted model = planner();
  model.on("plan", "Plan on");
  const rag::Tree tree = run_it({{"max_depth", "2"}}, model, false, true);
  CHECK(output::best_answer(tree)->text == "forced");
  CHECK(tree.action(output::best_answer(tree)->node).forced);
  CHECK(tree.ledger.total().retrievals == 2);
}

TEST_CASE("rows hold one right path and wrong ones, with values where they are read") {
  const rag::Tree tree = run_it({{"children", "2"}}, labelled(), true);
  std::string rows, policy;
  output::append_value_rows({tree, "decouple", 7, "{}"}, method::decouple_prompts(), {}, true, rows);
  output::append_value_rows({tree, "decouple", 7, "{}"}, method::decouple_prompts(), {}, false, policy);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
  CHECK(std::count(policy.begin(), policy.end(), '\n') == 1);
  CHECK(rows.find(R"x({"role":"assistant","content":"Look.\nSearch(capital (France))","q_value_thought":0.75,"value_at":5})x") != std::string::npos);
  CHECK(rows.find(R"("q_value_search":0.625)") != std::string::npos);
  CHECK(rows.find(R"x({"role":"assistant","content":"Found.\nFinish(Paris)","q_value_thought":1,"value_at":6}],"ext":{"golden_answer":["Paris"]},"correct":true,"policy_loss":true)x") !=
        std::string::npos);
  CHECK(rows.find(R"("correct":false,"policy_loss":false)") != std::string::npos);
  CHECK(policy.find("q_value") == std::string::npos);
  CHECK(policy.find("Lyon") == std::string::npos);

  const auto ends = [&](output::ValueRowOptions options) { return output::labelled_paths(tree, options); };
  CHECK(ends({}) == std::vector<NodeId>{3, 2});
  CHECK(ends({.wrong = 0}) == std::vector<NodeId>{3});
  CHECK(output::answer_recall(tree.state(3)) == 1);
  CHECK(output::answer_recall(tree.state(2)) == 0);
}

TEST_CASE("presets differ as the docs say") {
  run::DecoupleMethod paper(false), code(false);
  paper.preset("paper");
  code.preset("code");
  for (const char* part : {R"("simulations":20,"children":3,"w":1.4,"divide_again":false,"inner_scale":1,"stop_correct":0,"terminal":"match")", R"("oversample":1)"})
    CHECK(paper.options().json().find(part) != std::string::npos);
  for (const char* part : {R"("divide_again":true,"inner_scale":0.5,"stop_correct":50,"terminal":"judge")", R"("oversample":13,"diversity":"charset")"})
    CHECK(code.options().json().find(part) != std::string::npos);
  CHECK_THROWS_AS(paper.preset("x"), std::invalid_argument);
  CHECK_THROWS_AS(run_it({{"B1", "0"}}, planner(), false), std::invalid_argument);
  CHECK_THROWS_AS(run_it({{"inner_scale", "0"}}, planner(), false), std::invalid_argument);
}

}  // namespace decouple_rag_test
