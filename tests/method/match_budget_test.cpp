#include <espalier/method/all.hpp>
#include <espalier/method/match_budget.hpp>
#include <espalier/output/answers.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "../core/shuffled_service.hpp"
#include "scripted.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

  CHECK_THROWS_WITH_AS(
      answered({{"match_budget", "true"}}),
      "option 'match_budget' is 1, allowed: false without max_calls, max_tokens_total, max_usd or l_max",
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

TEST_CASE("joined trees keep all that is known of their nodes") {
  Tree<int, int> a(0, Seed(1)), b(0, Seed(1));
  a.add(0, 1, 1, 0, 1);
  const NodeId x = b.add(0, 2, 2, 1, 0.5F);
  const NodeId y = b.add(x, 3, 3, 1, 0.25F);
  b[x].visits = 2;
  b[y].total = 0.75;
  b[0].visits = 3;
  b.prune(y, Reason::not_best);
  b.rollouts.push_back({y, 9, 0.5});
  b.rollouts.push_back({0, 8, 0.25});
  b.annotate("plan", y, 0.125);
  b.ledger["p"].completions = 4;
  CHECK(detail::join(a, b) == 1);
  CHECK(a.size() == 4);
  CHECK(a[2].parent == 0);
  CHECK(a[3].parent == 2);
  CHECK(a[2].visits == 2);
  CHECK(a[0].visits == 3);
  CHECK(a[3].total == 0.75);
  CHECK(a[3].status == Status::pruned);
  CHECK(a.action(3) == 3);
  CHECK(a.rollouts[0].node == 3);
  CHECK(a.rollouts[1].node == 0);
  CHECK(a.annotation("plan", 3) == 0.125);
  CHECK(a.ledger.total().completions == 4);
  CHECK(a.children(0) == std::vector<NodeId>{1, 2});
}

namespace {

/// Answers of a method to generated questions, by a model of whose replies the share `malformed` cannot be read.
class Answers {
 public:
  Answers(std::string method, std::map<std::string, std::string> options, double malformed = 0.4)
      : method_(std::move(method)), options_(std::move(options)), model_(world_.examples(), {.malformed = malformed}) {
    options_.emplace("temperature", "1");
  }
  /// The trees, of which the model is asked in an order that `shuffle` draws, 0 = at once.
  [[nodiscard]] std::vector<rag::Tree> trees(std::uint64_t shuffle = 0) const {
    const auto method = method::make_method(method_);
    testing::set(*method, options_);
    method->check();
    Scheduler scheduler;
    const auto one = [this](const Prompt& prompt) {
      return Outcome<Completion>(model_(std::span<const Prompt>(&prompt, 1)).front());
    };
    const ModelPort model = shuffle > 0 ? scheduler.model(testing::shuffled<Prompt, Completion>(one, shuffle), 3)
                                        : scheduler.model(model_, Scheduler::unlimited);
    const method::Ports ports(model, scheduler.retriever(backend::Bm25(testing::passages_of(world_))));
    method->prepare(ports, method->prompts());
    std::vector<Task<rag::Tree>> searches;
    for (const auto& example : world_.examples()) searches.push_back(method->answer(rag::State(example.question), 7));
    return scheduler.run(std::move(searches));
  }
  /// What they put into trees.jsonl.
  [[nodiscard]] std::string lines(std::uint64_t shuffle) const {
    std::string all;
    for (const rag::Tree& tree : trees(shuffle)) output::append_tree({tree, method_, 7, "{}"}, all);
    return all;
  }
  /// The completions of the dearest question.
  [[nodiscard]] std::uint64_t most() const {
    std::uint64_t most = 0;
    for (const rag::Tree& tree : trees()) most = std::max(most, tree.ledger.total().completions);
    return most;
  }

 private:
  std::string method_;
  std::map<std::string, std::string> options_;
  sim::World world_{{.passages = 60, .questions = 6, .seed = 3}};
  sim::Model model_;
};

}  // namespace

TEST_CASE("no reply is drawn again once a budget is spent, in any method") {
  for (const std::string& method : method::method_names())
    for (std::uint64_t calls = 1; calls <= 12; ++calls) {
      CAPTURE(method);
      CAPTURE(calls);
      // AirRAG's first two actions are drawn side by side: each may take the one call that is left.
      const bool two = method == "airrag" || method == "airrag-blender";
      CHECK(Answers(method, {{"max_calls", std::to_string(calls)}}).most() <= calls + two);
    }
}

TEST_CASE("a search leaves what its scores and its forced answer cost, and every question gets one") {
  struct Search {
    std::string method;
    std::map<std::string, std::string> options;
    std::uint64_t side_by_side = 1;  // draws that may each take the same call that is left
  };
  for (const auto& [method, options, side_by_side] :
       std::vector<Search>{{"decouple", {}},
                           {"decouple", {{"keep1", "2"}, {"keep2", "2"}}, 4},
                           {"decouple", {{"values", "none"}, {"oversample", "2"}}},
                           {"greedy-agent", {}},
                           {"airrag", {{"rollouts", "10"}, {"window", "8"}}, 2},
                           {"prorag", {}},
                           {"prorag", {{"guide", "best_of_n"}}, 8},
                           {"prorag", {{"guide", "beam"}}, 2}})
    for (const std::uint64_t calls : {1U, 2U, 6U, 7U, 12U, 30U}) {
      CAPTURE(method);
      CAPTURE(calls);
      std::map<std::string, std::string> all = options;
      all["max_calls"] = std::to_string(calls);
      const Answers answers(method, all, 0);
      for (const rag::Tree& tree : answers.trees()) {
        CHECK(tree.ledger.total().completions <= calls);
        const auto best = output::best_answer(tree);
        CHECK((best && best->complete));
      }
      CHECK(Answers(method, all).most() < calls + side_by_side);  // of whose replies 4 in 10 cannot be read
    }
}

TEST_CASE("a budget cuts the same samples in any order of completion") {
  for (const auto& [method, options] : std::vector<std::pair<std::string, std::map<std::string, std::string>>>{
           {"decex", {{"inference", "expansion"}, {"max_calls", "25"}}},
           {"decex", {{"inference", "expansion"}, {"max_tokens_total", "4000"}}},
           {"decouple", {{"max_calls", "9"}}},
           {"prorag", {{"guide", "best_of_n"}, {"max_calls", "30"}}},
           {"airrag", {{"max_calls", "30"}, {"rollouts", "3"}, {"window", "8"}}},
           {"airrag", {{"max_calls", "9"}, {"rollouts", "3"}, {"window", "2"}, {"n_say", "2"}}}}) {
    CAPTURE(method);
    const Answers answers(method, options);
    const std::string reference = answers.lines(0);
    for (const std::uint64_t order : {1U, 2U, 3U}) CHECK(answers.lines(order) == reference);
  }
}

}  // namespace match_budget_test
