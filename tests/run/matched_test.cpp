#include "../method/scripted.hpp"

#include <espalier/output/answers.hpp>
#include <espalier/run/matched.hpp>
#include <espalier/run/registry.hpp>

#include <doctest/doctest.h>

namespace matched_test {

using namespace espalier;

namespace {

/// Answers A, B, B, A, B, B ... in the order of the calls, each for 12 tokens.
rag::Tree answered(std::vector<std::pair<std::string, std::string>> options) {
  const auto method = run::make_method("direct");
  for (const auto& [name, value] : options) method->options().set(name, value);
  method->check();
  testing::Scripted model;
  model.on("answer", [calls = 0](const Prompt&) mutable { return std::string(calls++ % 3 == 0 ? "A" : "B"); });
  Scheduler scheduler;
  const run::Ports ports(scheduler.model(std::move(model), Scheduler::unlimited),
                         scheduler.retriever([](std::span<const Query> queries) { return std::vector<Passages>(queries.size()); }));
  method->prepare(ports, method->prompts());
  return scheduler.run(run::answer(*method, rag::State(rag::Question{"q", "Which?"}), 1));
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

  CHECK_THROWS_WITH_AS(answered({{"match_budget", "true"}}), "option 'match_budget' is 1, allowed: false without max_calls, max_tokens_total or max_usd",
                       std::invalid_argument);
}

}  // namespace matched_test
