#include <espalier/llm/grammar.hpp>
#include <espalier/method/match_budget.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "../core/shuffled_service.hpp"
#include "../method/grammar_forms.hpp"
#include "../method/scripted.hpp"
#include "../sim/stubborn.hpp"
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace every_method_test {

/// What holds for every method that is registered, without naming one.

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::testing;

namespace {

enum class Job : std::uint8_t { grow, answer };

/// A method at a size that a test can pay for.
std::unique_ptr<method::Method> small(const std::string& name) {
  auto method = method::make_method(name);
  const std::map<std::string, std::string> sizes{{"simulations", "6"}, {"rollouts", "3"}, {"iterations", "6"},
                                                 {"n", "1"},           {"window", "3"},   {"repair", "true"}};
  for (const auto& [option, value] : sizes)
    for (const auto& row : method->options().help())
      if (row[0] == option) method->options().set(option, value);
  method->check();
  return method;
}

/// The trees of these questions.
std::vector<rag::Tree> trees(const std::string& name, Job job, const std::vector<rag::Example>& examples,
                             std::size_t in_flight, auto make_model, auto retriever) {
  const auto method = small(name);
  Scheduler scheduler;
  const method::Ports ports(scheduler.model(make_model(), in_flight),
                            scheduler.retriever(std::move(retriever), in_flight));
  method->prepare(ports, method->prompts());
  std::vector<Task<rag::Tree>> searches;
  for (const auto& example : examples) {
    if (job == Job::grow) searches.push_back(method->grow(rag::State(example), 5));
    else searches.push_back(method::answer(*method, rag::State(example.question), 5));
  }
  std::vector<rag::Tree> grown = scheduler.run(std::move(searches));
  for (const rag::Tree& tree : grown)
    for (const auto& [purpose, costs] : tree.ledger.by_purpose()) {
      if (costs.completions == 0) continue;  // retrievals
      CAPTURE(purpose);
      CHECK(method->asks(purpose, job == Job::answer));
    }
  for (const rag::Tree& tree : grown)
    for (NodeId id = 0; id < tree.size(); ++id) {
      CHECK(tree[id].pending == 0);
      std::uint32_t below = 0;
      for (const NodeId child : tree.children(id)) below += tree[child].visits;
      CHECK(tree[id].visits >= below);  // own evaluations + visits of the children
    }
  return grown;
}

/// The trees of a world's questions, as a run writes them.
std::string rows(const std::string& name, Job job, const sim::World& world, std::size_t in_flight, auto make_model) {
  const backend::Bm25 index(testing::passages_of(world));
  std::string out;
  for (const rag::Tree& tree : trees(name, job, world.examples(), in_flight, make_model, index))
    output::append_tree({tree, name, 5, "{}"}, out);
  return out;
}

}  // namespace

TEST_CASE("what the simulated model says fits the grammar of its prompt, for every purpose") {
  const sim::World world({.passages = 120, .questions = 3, .seed = 3});
  sim::Skills skills;
  skills.malformed = 0;
  const sim::Model simulated(world.examples(), skills);
  std::map<std::string, std::pair<detail::FormPtr, int>> known;  // by method and purpose: the form, replies looked at
  const auto model = [&](std::span<const Prompt> prompts) {
    std::vector<Completion> replies = simulated(prompts);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const PromptBody& body = prompts[i].body();
      const Protocol::Purpose& purpose = *body.protocol->purpose(body.purpose);
      auto& [form, seen] = known[body.protocol->method + "." + purpose.name];
      if (!form) form = Grammar(*body.protocol, purpose, 512).form();
      if (++seen > 10) continue;
      INFO(body.protocol->method, " ", purpose.name, ": ", replies[i].text);
      CHECK(grammar_forms::Fits::whole(form, rag::detail::trim(replies[i].text)));
    }
    return replies;
  };
  for (const std::string& name : method::method_names())
    for (const Job job : {Job::grow, Job::answer}) rows(name, job, world, 64, [&] { return model; });
  CHECK(known.size() > 40);
}

TEST_CASE(
    "every method gives the same trees for any batch size and any order of completion, also if replies cannot be "
    "read") {
  const sim::World world({.passages = 120, .questions = 4, .seed = 3});
  const sim::Model simulated(world.examples());
  const auto model = [&](std::span<const Prompt> prompts) {  // some of its replies have no mark, and each differs
    std::vector<Completion> replies = simulated(prompts);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      if (prompts[i].key().low % 4 == 0) replies[i].text = "<" + std::to_string(prompts[i].key().low);
    return replies;
  };
  std::size_t unread = 0, repaired = 0;
  for (const std::string& name : method::method_names())
    for (const Job job : {Job::grow, Job::answer}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(job));
      const auto reference = rows(name, job, world, 1000, [&] { return model; });
      unread += reference.find("\"first_unread\"") != std::string::npos;
      repaired += reference.find("\"repaired\"") != std::string::npos;
      CHECK(rows(name, job, world, 1, [&] { return model; }) == reference);
      const auto shuffled = [&] {
        const auto one = [&model](const Prompt& prompt) {
          return Outcome<Completion>(model(std::span<const Prompt>(&prompt, 1)).front());
        };
        return testing::shuffled<Prompt, Completion>(one, 17);
      };
      CHECK(rows(name, job, world, 5, shuffled) == reference);
    }
  CHECK(unread > method::method_names().size());
  CHECK(repaired > method::method_names().size());
}

TEST_CASE("bad models and empty or repeating retrievers end every method, and make up no answer") {
  const sim::World world({.passages = 60, .questions = 2, .seed = 3});
  for (const std::string& name : method::method_names())
    for (const Job job : {Job::grow, Job::answer})
      for (const Habit habit :
           {Habit::repeats, Habit::never_stops, Habit::rambles, Habit::says_nothing, Habit::foreign}) {
        CAPTURE(name);
        CAPTURE(static_cast<int>(habit));
        const bool twice = habit == Habit::repeats;
        const auto grown = trees(
            name, job, world.examples(), 100, [&] { return Stubborn(habit); },
            [twice](std::span<const Query> queries) {
              return std::vector<Passages>(queries.size(),
                                           twice ? Passages(2, Passage("d", "T", "text", 1)) : Passages());
            });
        CHECK(grown.size() == 2);
        if (habit == Habit::says_nothing)
          for (const rag::Tree& tree : grown) CHECK_FALSE(output::best_answer(tree));
      }
}

TEST_CASE("the fuzzers know every mark of every method") {
  std::ifstream file(std::string(ESPALIER_TESTS_DIR) + "/fuzz/dictionaries/tags");
  const std::string dictionary{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const std::string& name : method::method_names()) {
    const rag::PromptSet prompts = method::make_method(name)->prompts();
    for (const Protocol::Tag& tag : prompts.protocol()->tags)
      for (const std::string& mark : {tag.open, tag.close}) {
        if (mark.size() < 2) continue;  // the end of a line, a bracket
        std::string word = "\n\"";
        for (const char c : mark) word += c == '\\' ? std::string(2, c) : std::string(1, c);
        CAPTURE(mark);
        CHECK(dictionary.find(word + "\"\n") != std::string::npos);
      }
  }
}

}  // namespace every_method_test
