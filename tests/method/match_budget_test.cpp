#include <espalier/backend/bm25.hpp>
#include <espalier/method/airrag/face.hpp>
#include <espalier/method/baselines/face.hpp>
#include <espalier/method/match_budget.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/answers.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "../method/scripted.hpp"
#include <doctest/doctest.h>

namespace match_budget_test {

using namespace espalier;

namespace {

/// Answers A, B, B, A, B, B ... in the order of the calls, each for 12 tokens.
rag::Tree answered(const std::map<std::string, std::string>& options) {
  const auto method = method::make_method("direct");
  testing::set(*method, options);
  testing::Scripted model;
  model.on("answer", [calls = 0](const Prompt&) mutable { return std::string(calls++ % 3 == 0 ? "A" : "B"); });
  return testing::Prepared(*method, std::move(model), testing::nothing_found).answer();
}

}  // namespace

TEST_CASE("a method answers once, or until its budget is spent, and then by majority") {
  rag::Tree tree = answered({{"max_calls", "5"}});
  CHECK(tree.size() == 2);
  CHECK(output::best_answer(tree)->text == "A");

  tree = answered({{"max_calls", "5"}, {"match_budget", "true"}});
  CHECK(tree.ledger.total().completions == 5);  // A B B A B
  CHECK(tree.size() == 6);
  CHECK(output::best_answer(tree)->text == "B");
  CHECK(output::best_answer(tree)->node == 2);

  tree = answered({{"max_calls", "2"}, {"match_budget", "true"}});
  CHECK(output::best_answer(tree)->text == "A");  // A B: the first of equals

  tree = answered({{"max_tokens_total", "47"}, {"match_budget", "true"}});
  CHECK(tree.ledger.total().completions == 3);  // 12 tokens each; a fourth would pass the ceiling

  tree = answered({{"max_usd", "0.00005"}, {"price_in", "1"}, {"price_out", "2"}, {"match_budget", "true"}});
  CHECK(tree.ledger.total().completions == 3);  // (10 * 1 + 2 * 2) / 1e6 each

  CHECK_THROWS_WITH_AS(answered({{"match_budget", "true"}}),
                       "option 'match_budget' is 1, allowed: false without max_calls, max_tokens_total or max_usd",
                       std::invalid_argument);
}

TEST_CASE("an answer may spend what the answers before it have left, and one that is cut is the last") {
  // Ten calls, ten calls, and then a model that never answers: a third budget of 30 would make 38 calls and more.
  testing::Scripted model;
  model
      .on("step",
          [calls = 0](const Prompt&) mutable {
            return std::string(++calls == 10 || calls == 20 ? "<answer>Paris</answer>" : "<conclusion>c</conclusion>");
          })
      .on("forced_answer", "<answer>Rome</answer>");
  const auto method = method::make_method("hiprag");
  testing::set(*method, {{"max_calls", "30"}, {"match_budget", "true"}, {"rounds", "17"}});
  const rag::Tree tree = testing::Prepared(*method, std::move(model), testing::nothing_found).answer();
  CHECK(tree.ledger.total().completions == 30);
  CHECK(output::best_answer(tree)->text == "Paris");
  CHECK(tree.ending == SearchFacts::Ending::done);  // its first answer was not cut
}

TEST_CASE("a budget counts what was spent before a search") {
  Budget budget;
  budget.calls = 3;
  rag::Tree tree(rag::State(rag::Question{"q", "?"}).after(Ledger::Spending({.completions = 2}, 0)), Seed(1));
  CHECK_FALSE(budget.spent(tree, 0));
  tree.ledger["step"].completions = 1;
  CHECK(budget.spent(tree, 0));
  CHECK(Budget::costs(tree).completions == 3);

  budget = Budget();
  budget.seconds = 5;
  budget.clock = [] { return 2.0; };
  CHECK_FALSE(budget.spent(tree, 0, 1));
  CHECK(budget.spent(rag::Tree(rag::State(rag::Question{"q", "?"}).after(Ledger::Spending({}, 4)), Seed(1)), 0, 1));
}

TEST_CASE("AirRAG spends its budget on more rollouts of one tree") {
  const auto calls = [](bool match, const char* most) {
    const sim::World world({.passages = 60, .questions = 1, .seed = 3});
    const auto method = method::make_method("airrag");
    testing::set(*method, {{"max_calls", most}, {"match_budget", match ? "true" : "false"}});
    const backend::Bm25 index(testing::passages_of(world));
    testing::Prepared prepared(*method, sim::Model(world.examples()), index);
    CHECK_FALSE(method->budget_to_match());
    const rag::Tree tree = prepared.answer(world.examples().front());
    CHECK(output::best_answer(tree));
    CHECK(tree.ending == SearchFacts::Ending::done);
    return std::pair(tree.ledger.total().completions, tree.steps);
  };
  const auto [once, one] = calls(false, "40");
  const auto [matched, many] = calls(true, "40");
  CHECK(one == 1);
  CHECK(many > one);
  CHECK(once < matched);
  CHECK(matched >= 30);
  CHECK(matched <= 40);
  CHECK(calls(true, "1000000").second < 100000);  // nothing new can come
}

}  // namespace match_budget_test
