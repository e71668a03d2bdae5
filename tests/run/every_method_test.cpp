#include "../core/shuffled_service.hpp"
#include "../sim/stubborn.hpp"

#include <espalier/backend/bm25.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/run/matched.hpp>
#include <espalier/run/registry.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include <doctest/doctest.h>

namespace every_method_test {

/// What holds for every method that is registered, without naming one.

using namespace espalier;
using testing::Habit;
using testing::Stubborn;

namespace {

enum class Job : std::uint8_t { grow, answer };

/// A method at a size that a test can pay for.
std::unique_ptr<run::Method> small(const std::string& name) {
  auto method = run::make_method(name);
  const std::map<std::string, std::string> sizes{{"simulations", "6"}, {"rollouts", "3"}, {"iterations", "6"}, {"n", "1"}, {"window", "3"}};
  for (const auto& [option, value] : sizes)
    for (const auto& row : method->options().help())
      if (row[0] == option) method->options().set(option, value);
  method->check();
  return method;
}

/// The trees of these questions.
template <class MakeModel, class Retriever>
std::vector<rag::Tree> trees(const std::string& name, Job job, const std::vector<rag::Example>& examples, std::size_t in_flight, MakeModel make_model,
                               Retriever retriever) {
  const auto method = small(name);
  Scheduler scheduler;
  const run::Ports ports(scheduler.model(make_model(), in_flight), scheduler.retriever(std::move(retriever), in_flight));
  method->prepare(ports, method->prompts());
  std::vector<Task<rag::Tree>> searches;
  for (const auto& example : examples) {
    if (job == Job::grow) searches.push_back(method->grow(rag::State(example), 5));
    else searches.push_back(run::answer(*method, rag::State(example.question), 5));
  }
  std::vector<rag::Tree> grown = scheduler.run(std::move(searches));
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
template <class MakeModel>
std::string rows(const std::string& name, Job job, const sim::World& world, std::size_t in_flight, MakeModel make_model) {
  std::vector<Passage> corpus;
  for (std::size_t i = 0; i < world.size(); ++i) corpus.push_back(world.passage(i));
  std::string out;
  for (const rag::Tree& tree : trees(name, job, world.examples(), in_flight, make_model, backend::Bm25(std::move(corpus))))
    output::append_tree({tree, name, 5, "{}"}, out);
  return out;
}

}  // namespace

TEST_CASE("every method gives the same trees for any batch size and any order of completion") {
  const sim::World world({.passages = 120, .questions = 4, .seed = 3});
  const sim::Model model(world.examples());
  for (const std::string& name : run::method_names())
    for (const Job job : {Job::grow, Job::answer}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(job));
      const auto reference = rows(name, job, world, 1000, [&] { return model; });
      CHECK(rows(name, job, world, 1, [&] { return model; }) == reference);
      const auto shuffled = [&] {
        const auto one = [&model](const Prompt& prompt) { return Outcome<Completion>(model(std::span<const Prompt>(&prompt, 1)).front()); };
        return testing::shuffled<Prompt, Completion>(one, 17);
      };
      CHECK(rows(name, job, world, 5, shuffled) == reference);
    }
}

TEST_CASE("bad models and empty or repeating retrievers end every method, and make up no answer") {
  const sim::World world({.passages = 60, .questions = 2, .seed = 3});
  for (const std::string& name : run::method_names())
    for (const Job job : {Job::grow, Job::answer})
      for (const Habit habit : {Habit::repeats, Habit::never_stops, Habit::rambles, Habit::says_nothing, Habit::foreign}) {
        CAPTURE(name);
        CAPTURE(static_cast<int>(habit));
        const bool twice = habit == Habit::repeats;
        const auto grown = trees(name, job, world.examples(), 100, [&] { return Stubborn(habit); }, [twice](std::span<const Query> queries) {
          return std::vector<Passages>(queries.size(), twice ? Passages(2, Passage("d", "T", "text", 1)) : Passages());
        });
        CHECK(grown.size() == 2);
        if (habit == Habit::says_nothing)
          for (const rag::Tree& tree : grown) CHECK_FALSE(output::best_answer(tree));
      }
}

}  // namespace every_method_test
