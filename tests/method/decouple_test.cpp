#include <espalier/method/decouple/face.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "scripted.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace decouple_test {

using namespace espalier;
using namespace espalier::detail;
using method::detail::Dual;
using rag::SegmentKind;
using namespace espalier::testing;

namespace {

rag::Tree run_it(std::map<std::string, std::string> set, Scripted model, bool labels, bool greedy = false,
                 std::function<std::vector<Embedding>(std::span<const EncodeRequest>)> values = nullptr) {
  method::detail::DecoupleRagFace method(greedy);
  testing::set(method, set);
  const auto retriever = [](std::span<const Query> queries) {
    std::vector<Passages> answers;
    for (const Query& query : queries)
      answers.push_back({Passage("d", "T", "Paris, " + query.text + " Finish(42)", 1)});
    return answers;
  };
  testing::Prepared prepared(method, std::move(model), retriever, {}, values);
  return labels ? prepared.grow() : prepared.answer();
}

/// Sample 0 searches, sample 1 answers wrong; after a search comes the right answer.
Scripted labelled() {
  Scripted model;
  model.on("step", [](const Prompt& p) {
    if (holds(*p.slot("history"), "Paris")) return "Found. Finish(Paris)";
    return p.sample() == 0 ? "Look. Search(capital (France))" : "I guess. Finish(Lyon)";
  });
  model.on("judge", "Good. <score> 0.5, 0.25 </score>").on("judge_answer", [](const Prompt& p) {
    return std::string(*p.slot("answer") == "Paris" ? "yes" : "no");
  });
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
  CHECK(method::detail::DecoupleUct(1.4, false)(parent, child) ==
        doctest::Approx(0.5 + 1.4 * std::sqrt(std::log(4.0) / 2)));
  CHECK(method::detail::DecoupleUct(1.4, true)(parent, child) ==
        doctest::Approx(0.25 + 1.4 * std::sqrt(std::log(4.0) / 2)));  // the published code's fault
  child.pending = 1;                                                  // a simulation under way: a visit without a value
  CHECK(method::detail::DecoupleUct(1.4, false)(parent, child) ==
        doctest::Approx(0.5 + 1.4 * std::sqrt(std::log(4.0) / 3)));
  child.visits = 0;  // the parent's mean
  parent.total = {0, -1};
  CHECK(method::detail::DecoupleUct(1.4, false)(parent, child) ==
        doctest::Approx(-0.25 + 1.4 * std::sqrt(std::log(4.0))));
  child.pending = 0;
  CHECK(std::isinf(method::detail::DecoupleUct(1.4, false)(parent, child)));
}

TEST_CASE("labelling, worked out by hand: judged steps, +1 and -1 for answers, means on the way up") {
  const rag::Tree tree = run_it({{"children", "2"}, {"simulations", "20"}}, labelled(), true);
  // the search (judged), the wrong answer, and below the search the right answer; then everything is solved
  CHECK(testing::texts(tree) == "capital (France) | Lyon | Paris");
  CHECK(tree.action(1).thought == "Look.");
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

TEST_CASE("every new step is judged, by hand: two steps worth 0.25, each followed by a right answer (Eq. 6)") {
  Scripted model = labelled();
  model.on("step", [](const Prompt& p) {
    if (p.slot("history")->find("Paris") != std::string_view::npos) return std::string("Found. Finish(Paris)");
    return "Look. Search(way " + std::to_string(p.sample()) + ")";
  });
  model.on("judge", "<score> 0.25, 0.25 </score>");
  for (const char* all : {"false", "true"})
    for (const char* window : {"1", "4", "16"}) {
      CAPTURE(window);
      const rag::Tree tree = run_it({{"children", "2"}, {"judge_all", all}, {"window", window}}, model, true);
      REQUIRE(tree.size() == 5);
      CHECK(tree[2].visits == 2);
      CHECK(tree[2].mean() == 0.625);
      CHECK(tree.annotation("plan", 2) == 0.625);
      CHECK(tree[0].visits == 4);
      CHECK(tree[0].mean() == 0.625);
      CHECK(tree.ledger.by_purpose().at("judge").completions == 2);
    }
}

TEST_CASE("preset code: all five children are judged and enter before the next selection") {
  Scripted model = labelled();
  model.on("step", [](const Prompt& p) { return "Look. Search(way " + std::to_string(p.sample()) + ")"; });
  model.on("judge", "<score> 0.5, 0.25 </score>");
  const auto grow = [&](const char* simulations, const char* all) {
    return run_it({{"children", "5"}, {"simulations", simulations}, {"judge_all", all}}, model, true);
  };
  const rag::Tree tree = grow("1", "true");
  CHECK(tree.size() == 6);
  CHECK(tree[0].visits == 5);
  CHECK(tree[0].mean() == 0.25);
  CHECK(grow("2", "true")[0].visits == 10);
  CHECK(grow("1", "false")[0].visits == 1);
}

TEST_CASE("with a window each answer enters once") {
  for (const char* window : {"1", "4", "16"})
    for (const char* all : {"false", "true"}) {
      CAPTURE(window);
      const rag::Tree tree = run_it({{"children", "3"}, {"window", window}, {"judge_all", all}}, labelled(), true);
      std::uint32_t evaluated = 0;
      for (NodeId id = 1; id < tree.size(); ++id) {
        evaluated += tree[id].evaluated;
        if (tree.state(id).answer() && tree[id].evaluated) CHECK(tree[id].visits == 1);
      }
      CHECK(tree[0].visits == evaluated);
    }
}

TEST_CASE("a judge's text that is no pair of numbers in range closes the branch, and is never a value") {
  for (const char* text : {"no idea", "<score>0.5</score>", "<score>85/100, 1</score>", "<score>7.5, 0</score>",
                           "<score>nan, 0</score>", "<score></score>"}) {
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
    const bool plan = history.find("Plan 1") != history.npos, query = history.find("query 2") != std::string_view::npos;
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
  CHECK_THROWS_WITH_AS(run_it({{"values", "server"}}, planner(), false),
                       "option 'values' is server, allowed: another choice where there is no value server",
                       std::invalid_argument);
  CHECK_THROWS_AS(run_it({{"values", "head"}}, planner(), false), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      run_it({{"values", "server"}}, planner(), false, false,
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

TEST_CASE("nothing finished under a budget, or nothing that can be read: a forced answer, and no question is dropped") {
  const rag::Tree cut = run_it({{"max_calls", "7"}}, planner(), false);  // three plans, their values, and the answer
  CHECK(cut.ledger.total().completions <= 7);
  CHECK(cut.ending == SearchFacts::Ending::budget);
  CHECK(cut.ledger.by_purpose().at("forced_answer").completions == 1);
  const auto best = output::best_answer(cut);
  REQUIRE(best);
  CHECK(best->text == "forced");
  CHECK(cut.action(best->node).forced);
  CHECK(cut.action(cut[best->node].parent).text == "Plan 1");  // the plan that went on

  Scripted mute = planner();
  mute.on("query", "nothing to see");
  const rag::Tree tree = run_it({}, mute, false);
  REQUIRE(output::best_answer(tree));
  CHECK(output::best_answer(tree)->text == "forced");
}

TEST_CASE("plans and searches may be ranked by chance, which asks for no value (section 5.3)") {
  const auto judged = [](std::map<std::string, std::string> set) {
    const rag::Tree tree = run_it(std::move(set), planner(), false);
    CHECK(output::best_answer(tree)->text == "Paris");
    return tree.ledger.by_purpose().at("judge").completions;
  };
  // 3 plans, 3 searches, and 1 answer, which 3 equal samples give
  CHECK(judged({}) == 7);
  CHECK(judged({{"rank_plans", "random"}}) == 4);
  CHECK(judged({{"rank_searches", "random"}}) == 4);
  CHECK(judged({{"rank_plans", "random"}, {"rank_searches", "random"}}) == 1);
}

TEST_CASE("a list of queries in a step is a list, fused by reciprocal ranks") {
  using List = std::vector<std::string>;
  CHECK(method::detail::query_list("capital (France)") == List{"capital (France)"});
  CHECK(method::detail::query_list(R"(["a, b", 'c', "c" , d e])") == List{"a, b", "c", "d e"});
  CHECK(method::detail::query_list("[France's capital, Paris]") == List{"France's capital", "Paris"});
  CHECK(method::detail::query_list("[]") == List{"[]"});
  CHECK(method::detail::query_list("[a] and b") == List{"[a] and b"});

  Scripted model = labelled();
  model.on("step", [](const Prompt& p) {
    if (p.slot("history")->find("Observation") != std::string_view::npos) return "Found. Finish(Paris)";
    return R"(Look. Search(["x", "y"]))";
  });
  method::detail::DecoupleRagFace method(false);
  method.options().set("children", "1");
  std::vector<std::string> asked;
  const auto retriever = [&](std::span<const Query> queries) {
    std::vector<Passages> answers;
    for (const Query& query : queries) {
      asked.push_back(query.text);
      if (query.text == "x") answers.push_back({Passage("1", "", "A"), Passage("2", "", "B")});
      else answers.push_back({Passage("2", "", "B"), Passage("3", "", "C")});
    }
    return answers;
  };
  const rag::Tree tree = testing::Prepared(method, model, retriever).grow();
  CHECK(asked == List{"x", "y"});
  CHECK(tree.ledger.total().retrievals == 2);
  const Passages* found = tree.state(1).transcript().last()->documents();
  REQUIRE(found);
  // 2: 1/62 + 1/61; 1: 1/61; 3: 1/62; as many as one query gives
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].id() == "2");
  CHECK((*found)[1].id() == "1");
}

TEST_CASE("rows hold one right path and wrong ones, with values where they are read") {
  const rag::Tree tree = run_it({{"children", "2"}}, labelled(), true);
  std::string rows, policy;
  method::append_value_rows({tree, "decouple", 7, "{}"}, method::decouple_prompts(), {}, true, rows);
  method::append_value_rows({tree, "decouple", 7, "{}"}, method::decouple_prompts(), {}, false, policy);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
  CHECK(std::count(policy.begin(), policy.end(), '\n') == 1);
  for (
      const char* part :
      {R"x({"role":"assistant","content":"Look.\nSearch(capital (France))","q_value_thought":0.75,"value_at":5})x",
       R"("q_value_search":0.625)",
       R"x({"role":"assistant","content":"Found.\nFinish(Paris)","q_value_thought":1,"value_at":6}],"ext":{"golden_answer":["Paris"]},"correct":true,"policy_loss":true)x",
       R"("correct":false,"policy_loss":false)"})
    CHECK_MESSAGE(holds(rows, part), part);
  for (const char* part : {"q_value", "Lyon"}) CHECK_FALSE(holds(policy, part));

  const auto ends = [&](method::ValueRowOptions options) { return method::detail::labelled_paths(tree, options); };
  CHECK(ends({}) == std::vector<NodeId>{3, 2});
  CHECK(ends({.wrong = 0}) == std::vector<NodeId>{3});
  CHECK(method::detail::answer_recall(tree.state(3)) == 1);
  CHECK(method::detail::answer_recall(tree.state(2)) == 0);
  rag::Tree unjudged = tree;
  unjudged[1].evaluated = false;  // the step before the right answer
  CHECK(method::detail::labelled_paths(unjudged, {}) == std::vector<NodeId>{2});
}

TEST_CASE("a right path is right by its answer: from memory too, and for yes/no questions unless they are skipped") {
  const auto recall = [](const char* answer, std::vector<std::string> gold) {
    rag::Example example;
    example.question = {"q", "Who?"};
    example.gold = std::move(gold);
    const rag::State root(example);
    return method::detail::answer_recall(root.with(rag::Segment(SegmentKind::answer, rag::ModelText(answer))));
  };
  CHECK(recall("the Duke of York", {"Prince Andrew, Duke of York"}) == doctest::Approx(3.0 / 5));
  CHECK(recall("Andrew", {"Prince Andrew, Duke of York", "Prince Andrew"}) == 0.5);
  CHECK(recall("yes", {"Yes"}) == 1);
  CHECK(recall("no", {"yes"}) == 0);
  CHECK(recall("New York", {"new new York York"}) == 0.5);  // words count as often as they stand

  Scripted model = labelled();
  model.on("step", [](const Prompt& p) { return p.sample() == 0 ? "I know. Finish(Paris)" : "I guess. Finish(Lyon)"; });
  const rag::Tree tree = run_it({{"children", "2"}}, model, true);
  CHECK(method::detail::labelled_paths(tree, {}) == std::vector<NodeId>{1, 2});
  for (const auto& [question, gold, yes_no] : {std::tuple("Is Paris a town?", "a town", true),
                                               {"Which?", "Yes", true},
                                               {"Island of France?", "Paris", false}}) {
    rag::Example example;
    example.question = {"q", question};
    example.gold = {gold};
    CHECK(method::detail::asks_yes_or_no(rag::State(example)) == yes_no);
    rag::Tree asked = tree;
    asked.state(0) = rag::State(example);
    CHECK(method::detail::labelled_paths(asked, {.skip_yes_no = true}).empty() == yes_no);
    CHECK(method::detail::labelled_paths(asked, {}).size() == 2);
  }
}

TEST_CASE("in `code` a yes/no question gives no row in any file, however it was labelled") {
  const auto rows = [](const char* preset, const char* question) {
    method::detail::DecoupleRagFace method(false);
    method.preset(preset);
    method.options().set("children", "2");
    const auto paris = [](std::span<const Query> queries) {
      return std::vector<Passages>(queries.size(), {Passage("d", "T", "Paris", 1)});
    };
    rag::Example example = testing::capital();
    example.question.text = question;
    const rag::Tree tree = testing::Prepared(method, labelled(), paris).grow(example);
    std::map<std::string, bool> written;
    for (const method::Product& product : method.products()) {
      std::string text;
      product.rows({tree, "decouple", 7, "{}"}, text);
      written[product.file] = !text.empty();
    }
    return written;
  };
  using Written = std::map<std::string, bool>;
  CHECK(rows("code", "Which is the capital?") == Written{{"sft.jsonl", true}, {"value.jsonl", true}});
  CHECK(rows("code", "Is Paris the capital?") == Written{{"sft.jsonl", false}, {"value.jsonl", false}});
  CHECK(rows("paper", "Is Paris the capital?") == Written{{"sft.jsonl", true}, {"value.jsonl", true}});
}

TEST_CASE("a judge that knows more gives better answers, and better ones than no judge") {
  const sim::World world({.passages = 500, .questions = 100, .seed = 3});
  const backend::Bm25 index(testing::passages_of(world));
  const auto right = [&](double judge, bool greedy) {
    method::detail::DecoupleRagFace method(greedy);
    const sim::Model model(world.examples(), {.judge = judge});
    const auto trees = testing::trees_of(method, world.examples(), model, index, false, 5);
    int count = 0;
    for (std::size_t i = 0; i < trees.size(); ++i)
      if (const auto best = output::best_answer(trees[i]))
        count += rag::score(rag::Profile::common, best->text, world.examples()[i].gold).em == 1;
    return count;
  };
  const int low = right(0, false), usual = right(0.85, false), high = right(1, false), greedy = right(0.85, true);
  CAPTURE(low);
  CAPTURE(usual);
  CAPTURE(high);
  CAPTURE(greedy);
  CHECK(low < usual);
  CHECK(usual < high);
  CHECK(greedy < usual);
}

TEST_CASE("presets differ as the docs say") {
  method::detail::DecoupleRagFace paper(false), code(false);
  paper.preset("paper");
  code.preset("code");
  for (
      const char* part :
      {R"("simulations":20,"children":3,"w":1.4,"divide_again":false,"inner_scale":1,"judge_all":false,"stop_correct":0,"terminal":"match")",
       R"("oversample":1)", R"("skip_yes_no":false)"})
    CHECK(holds(paper.options().json(), part));
  for (const char* part : {R"("simulations":40,"children":5)",
                           R"("divide_again":true,"inner_scale":0.5,"judge_all":true,"stop_correct":50)",
                           R"("oversample":13,"diversity":"charset")", R"("skip_yes_no":true)"})
    CHECK(holds(code.options().json(), part));
  CHECK_THROWS_AS(paper.preset("x"), std::invalid_argument);
  CHECK_THROWS_AS(run_it({{"B1", "0"}}, planner(), false), std::invalid_argument);
  CHECK_THROWS_AS(run_it({{"inner_scale", "0"}}, planner(), false), std::invalid_argument);
}

}  // namespace decouple_test
