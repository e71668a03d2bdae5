#pragma once

#include <core/shuffled_service.hpp>
#include <doctest/doctest.h>
#include <search/asked_tree.hpp>
#include <search/tree_text.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::testing {

inline std::string show(std::uint32_t action) { return std::to_string(action); }
inline std::string show(const AskedTree::State& s) { return std::to_string(s.hash) + "@" + std::to_string(s.depth); }
inline const auto shown = [](const auto& x) { return show(x); };

/// How a run is carried out; none of it may be seen in a tree.
struct Execution {
  bool batch = true;
  std::size_t limit = 1000;
  std::uint64_t order = 0;
};
inline const Execution executions[] = {{true, 1000, 0}, {true, 1, 0},  {true, 7, 0},   {false, 1, 1},
                                       {false, 7, 2},   {false, 7, 3}, {false, 64, 4}, {false, 64, 5}};

/// A batch function that answers each request by itself.
template <class In, class Out>
auto answer_all(Outcome<Out> (*answer)(const In&)) {
  return [answer](std::span<const In> requests) {
    std::vector<Outcome<Out>> out;
    for (const In& request : requests) out.push_back(answer(request));
    return out;
  };
}

struct World {
  explicit World(const Execution& e) : model(add_model(e)), retriever(add_retriever(e)), env(model, retriever, 4) {}
  ModelPort add_model(const Execution& e) {
    if (!e.batch) return scheduler.model(shuffled<Prompt, Completion>(&AskedTree::say, e.order), e.limit);
    return scheduler.model(answer_all<Prompt, Completion>(&AskedTree::say), e.limit);
  }
  RetrieverPort add_retriever(const Execution& e) {
    if (!e.batch) return scheduler.retriever(shuffled<Query, Passages>(&AskedTree::find, e.order + 9), e.limit);
    return scheduler.retriever(answer_all<Query, Passages>(&AskedTree::find), e.limit);
  }
  Scheduler scheduler;
  ModelPort model;
  RetrieverPort retriever;
  AskedTree env;
};

/// What tree_text leaves out.
std::string rest_of(const auto& tree) {
  std::string text = "steps " + std::to_string(tree.steps) + " " + std::to_string(tree.choices) + " " +
                     std::to_string(tree.explored) + " " + tree.prior_source;
  text += " " + exact(tree.lowest) + " " + exact(tree.highest) + "\n";
  for (const auto& [purpose, unread] : tree.ledger.first_unread())
    text += purpose + " " + std::to_string(tree.ledger.by_purpose().at(purpose).unread) + " " + unread.text + "\n";
  for (const auto& [name, numbers] : tree.annotations)
    for (const double number : numbers) text += name + " " + exact(number) + "\n";
  for (NodeId id = 0; id < tree.size(); ++id) text += tree[id].solved ? "s" : "-";
  return text;
}

/// Grows three trees side by side and returns their texts; checks the rules that each must keep, and that the trees
/// count all that the backends were asked. `several`: nodes may be valued more than once.
std::vector<std::string> grow(const Execution& execution, auto make, bool several = false) {
  World world(execution);
  auto engine = make(AskedTree::Judge(world.model));
  std::vector<Task<typename decltype(engine)::template TreeOf<AskedTree>>> tasks;
  for (const char* question : {"a", "b", "c"})
    tasks.push_back(engine(world.env, AskedTree::State(), Seed(7, question)));
  std::vector<std::string> texts;
  Ledger::Costs counted;
  for (const auto& tree : world.scheduler.run(std::move(tasks))) {
    CHECK(broken_rule(tree, several) == "");
    texts.push_back(tree_text(tree, shown) + rest_of(tree));
    counted += tree.ledger.total();
  }
  CHECK(counted.completions == world.model.accounts().logical);
  CHECK(counted.retrievals == world.retriever.accounts().logical);
  return texts;
}

void same_for_every_execution(auto make, bool several = false) {
  const auto expected = grow(executions[0], make, several);
  CHECK(expected[0] != expected[1]);  // seeds differ by question
  for (const Execution& e : executions) {
    CAPTURE(e.batch);
    CAPTURE(e.limit);
    CAPTURE(e.order);
    CHECK(grow(e, make, several) == expected);
  }
}

}  // namespace espalier::testing
