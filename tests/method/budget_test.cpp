#include <espalier/backend/bm25.hpp>
#include <espalier/method/all.hpp>
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

namespace budget_test {

using namespace espalier;

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

}  // namespace budget_test
