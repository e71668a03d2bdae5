// What every engine keeps: the tree is a function of question, options, seed and answers, and of nothing else.
#include <espalier/search/beam.hpp>
#include <espalier/search/layered.hpp>
#include <espalier/search/mcts.hpp>

#include <core/shuffled_service.hpp>
#include <search/asked_tree.hpp>
#include <search/tree_text.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace espalier;
using testing::AskedTree;

namespace {

std::string show(std::uint32_t action) { return std::to_string(action); }
std::string show(const AskedTree::State& s) { return std::to_string(s.hash) + "@" + std::to_string(s.depth); }
const auto shown = [](const auto& x) { return show(x); };

/// How a run is carried out; none of it may be seen in a tree.
struct Execution {
  bool batch = true;
  std::size_t limit = 1000;
  std::uint64_t order = 0;
};
const Execution executions[] = {{true, 1000, 0}, {true, 1, 0}, {true, 7, 0}, {false, 1, 1}, {false, 7, 2}, {false, 7, 3}, {false, 64, 4}, {false, 64, 5}};

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
    if (!e.batch) return scheduler.model(testing::shuffled<Prompt, Completion>(&AskedTree::say, e.order), e.limit);
    return scheduler.model(answer_all<Prompt, Completion>(&AskedTree::say), e.limit);
  }
  RetrieverPort add_retriever(const Execution& e) {
    if (!e.batch) return scheduler.retriever(testing::shuffled<Query, Passages>(&AskedTree::find, e.order + 9), e.limit);
    return scheduler.retriever(answer_all<Query, Passages>(&AskedTree::find), e.limit);
  }
  Scheduler scheduler;
  ModelPort model;
  RetrieverPort retriever;
  AskedTree env;
};

/// Grows three trees side by side and returns their texts; checks the rules that each must keep.
template <class Make>
std::vector<std::string> grow(const Execution& execution, Make make) {
  World world(execution);
  auto engine = make(AskedTree::Judge(world.model));
  std::vector<Task<typename decltype(engine)::template TreeOf<AskedTree>>> tasks;
  for (const char* question : {"a", "b", "c"}) tasks.push_back(engine(world.env, AskedTree::State(), Seed(7, question)));
  std::vector<std::string> texts;
  for (const auto& tree : world.scheduler.run(std::move(tasks))) {
    CHECK(testing::broken_rule(tree) == "");
    texts.push_back(testing::tree_text(tree, shown));
  }
  return texts;
}

template <class Make>
void same_for_every_execution(Make make) {
  const auto expected = grow(executions[0], make);
  CHECK(expected[0] != expected[1]);  // seeds differ by question
  for (const Execution& e : executions) {
    CAPTURE(e.batch);
    CAPTURE(e.limit);
    CAPTURE(e.order);
    CHECK(grow(e, make) == expected);
  }
}

template <class Select>
auto mcts(MctsOptions::Expand expand, std::uint32_t window, Select select) {
  return [=](AskedTree::Judge judge) {
    return Mcts({.simulations = 60, .width = 3, .window = window, .expand = expand}, std::move(judge), select);
  };
}

}  // namespace

TEST_CASE("MCTS gives the same tree for any batch size, number in flight and order of completion") {
  for (const auto expand : {MctsOptions::Expand::all, MctsOptions::Expand::one})
    for (const std::uint32_t window : {1u, 4u, 8u, 100u}) {
      CAPTURE(int(expand));
      CAPTURE(window);
      same_for_every_execution(mcts(expand, window, Uct()));
      same_for_every_execution(mcts(expand, window, Puct()));
    }
}

TEST_CASE("the window changes the tree: it is an option of the search") {
  const auto serial = grow(executions[0], mcts(MctsOptions::Expand::all, 1, Uct()));
  const auto parallel = grow(executions[0], mcts(MctsOptions::Expand::all, 8, Uct()));
  CHECK(serial != parallel);
}

TEST_CASE("beam search gives the same tree for any execution") {
  same_for_every_execution([](AskedTree::Judge judge) { return Beam({.beam = 3, .width = 3, .max_depth = 4}, std::move(judge)); });
}

TEST_CASE("layered search gives the same tree for any execution") {
  same_for_every_execution([](AskedTree::Judge judge) {
    return Layered({.width = 3}, std::move(judge), KeepAll(), ThresholdSkip(0, 0.8, ThresholdSkip::Of::best), TopK(2));
  });
}

TEST_CASE("layered search with rollouts gives the same tree for any execution") {
  const auto reward = [](const AskedTree::State& s) { return static_cast<double>(s.hash % 100) / 100; };
  same_for_every_execution([&](AskedTree::Judge) {
    return Layered({.width = 2}, Rollout({.n = 3, .max_steps = 4}, reward), Vote(2), KeepAll(), TopK(1));
  });
}

TEST_CASE("every node has its own seed") {
  World world(executions[0]);
  Mcts engine({.simulations = 100, .width = 3}, AskedTree::Judge(world.model));
  const auto tree = world.scheduler.run(engine(world.env, AskedTree::State(), Seed(1)));
  std::vector<std::uint64_t> hashes;  // a state's hash is made of its node's seed
  for (NodeId id = 1; id < tree.size(); ++id)
    if (tree[id].reason != Reason::malformed || tree[id].evaluated) hashes.push_back(tree.state(id).hash);
  CHECK(hashes.size() > 50);
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("proposals that cannot be read are closed at birth, get no value and no children") {
  World world(executions[0]);
  Mcts engine({.simulations = 100, .width = 3, .window = 8}, AskedTree::Judge(world.model));
  const auto tree = world.scheduler.run(engine(world.env, AskedTree::State(), Seed(1)));
  std::size_t closed = 0, unknown = 0;
  for (NodeId id = 1; id < tree.size(); ++id) {
    const auto& node = tree[id];
    if (node.reason != Reason::malformed) continue;
    CHECK(node.status == Status::pruned);
    (node.evaluated ? unknown : closed)++;
    if (node.evaluated) continue;
    CHECK(node.visits == 0);
    CHECK(node.first_child == no_node);
  }
  CHECK(closed > 5);
  CHECK(unknown > 2);
}

TEST_CASE("a failed call reaches the task that made it, and no other; nothing waits for ever") {
  // The n-th judgement fails, for every n; the other questions of the run are not touched.
  for (const std::uint32_t window : {1u, 8u})
    for (const auto expand : {MctsOptions::Expand::all, MctsOptions::Expand::one})
      for (const char* victim : {"judge", "propose"})
        for (int fatal = 1; fatal < 30; fatal += 2) {
          Scheduler scheduler;
          int asked = 0;
          const auto say = [&](const Prompt& prompt) -> Outcome<Completion> {
            if (prompt.text().starts_with(victim) && ++asked == fatal)
              return std::make_exception_ptr(BackendError("broken", BackendError::Kind::permanent));
            return AskedTree::say(prompt);
          };
          testing::Traffic traffic;
          ModelPort model = scheduler.model(testing::shuffled<Prompt, Completion>(say, static_cast<std::uint64_t>(fatal), &traffic), 16);
          RetrieverPort retriever = scheduler.retriever(testing::shuffled<Query, Passages>(&AskedTree::find, 3));
          AskedTree env(model, retriever, 4);
          Mcts engine({.simulations = 30, .width = 3, .window = window, .expand = expand}, AskedTree::Judge(model));
          std::vector<Task<Tree<AskedTree::State, std::uint32_t>>> tasks;
          for (const char* q : {"a", "b", "c"}) tasks.push_back(engine(env, AskedTree::State(), Seed(7, q)));
          const auto outcomes = scheduler.run_all(std::move(tasks));
          const auto failed = std::count_if(outcomes.begin(), outcomes.end(), [](const auto& o) { return !o.ok(); });
          CHECK(failed == (asked >= fatal));
          CHECK(traffic.cancelled == 0);  // what was under way was waited for
          CHECK(traffic.submitted == traffic.answered);
        }
}

TEST_CASE("an error of the user's own code ends the run") {
  for (const std::uint32_t window : {1u, 8u}) {
    World world({false, 7, 5});
    int calls = 0;
    const auto evaluate = [&](const AskedTree&, const AskedTree::State& s) -> double {
      if (++calls == 12) throw std::logic_error("a fault of the evaluator");
      return static_cast<double>(s.hash % 10);
    };
    Mcts engine({.simulations = 60, .width = 3, .window = window}, evaluate);
    std::vector<Task<Tree<AskedTree::State, std::uint32_t>>> tasks;
    for (const char* q : {"a", "b", "c"}) tasks.push_back(engine(world.env, AskedTree::State(), Seed(7, q)));
    CHECK_THROWS_WITH_AS(world.scheduler.run_all(std::move(tasks)), "a fault of the evaluator", std::logic_error);
  }
}

TEST_CASE("an environment that throws while a node is entered stops its tree without leaving anything behind") {
  struct Faulty : AskedTree {
    using AskedTree::AskedTree;
    mutable int calls = 0;
    std::vector<Kind> kinds(const State& s) const {
      if (++calls == 15) throw std::runtime_error("kinds");
      return AskedTree::kinds(s);
    }
  };
  for (const std::uint32_t window : {1u, 8u}) {
    World world({false, 7, 6});
    Faulty env(world.model, world.retriever, 4);
    Mcts engine({.simulations = 60, .width = 3, .window = window}, AskedTree::Judge(world.model));
    CHECK_THROWS_WITH_AS(world.scheduler.run(engine(env, AskedTree::State(), Seed(1))), "kinds", std::runtime_error);
  }
}
