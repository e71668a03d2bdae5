// What every engine keeps: the tree is a function of question, options, seed and answers, and of nothing else.
#include <espalier/search.hpp>

#include "../toy/corridor.hpp"
#include <doctest/doctest.h>
#include <search/executions.hpp>

#include <string>
#include <vector>

namespace contract_test {

using namespace espalier;
using namespace espalier::testing;

namespace {

/// A backend that hands every reply over twice, the second time with the next ones and with another text.
class Repeating final : public Service<Prompt, Completion> {
 public:
  void submit(Ticket ticket, const Prompt& prompt) override { fresh_.emplace_back(ticket, AskedTree::say(prompt)); }
  std::vector<Reply<Completion>> poll(std::chrono::milliseconds) override {
    std::vector<Reply<Completion>> replies;
    for (const Ticket ticket : told_) replies.emplace_back(ticket, Completion("1"));
    told_.clear();
    for (auto& reply : fresh_) {
      told_.push_back(reply.ticket);
      replies.push_back(reply);
      replies.emplace_back(reply.ticket, Completion("2"));
    }
    fresh_.clear();
    return replies;
  }
  [[nodiscard]] bool batch() const override { return false; }

 private:
  std::vector<Reply<Completion>> fresh_;
  std::vector<Ticket> told_;
};

auto mcts(MctsOptions::Expand expand, std::uint32_t window, auto select) {
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

TEST_CASE("each option of MCTS gives the same tree for any execution") {
  using Expand = MctsOptions::Expand;
  for (const std::uint32_t window : {1u, 8u, 32u}) {
    CAPTURE(window);
    const MctsOptions base{.simulations = 60, .width = 3, .window = window};
    const auto with = [](MctsOptions options, auto select, bool several = false) {
      same_for_every_execution([=](AskedTree::Judge judge) { return Mcts(options, std::move(judge), select); },
                               several);
    };
    MctsOptions options = base;
    options.solve = true;
    with(options, Uct());
    for (const auto values : {MctsOptions::Values::each, MctsOptions::Values::leaf, MctsOptions::Values::all})
      for (const bool solve : {false, true}) {
        options = base;
        options.values = values;
        options.solve = solve;
        with(options, Uct());
      }
    options = base;
    options.collision = MctsOptions::Collision::evaluate;
    with(options, Uct(), true);
    options.expand = Expand::one;
    with(options, Uct(), true);
    options = base;
    options.expand = Expand::one;
    options.widen_k = 1.5;
    with(options, Uct());
    options = base;
    options.budget.calls = 150;
    with(options, Uct());
    for (const auto source : {PriorSource::uniform, PriorSource::counts, PriorSource::mean_logprob}) {
      options = base;
      options.prior.source = source;
      with(options, Puct());
    }
    for (const auto first_play : {FirstPlay::parent, FirstPlay::constant})
      with(base, Uct({.unvisited = 0.4, .first_play = first_play}));
    same_for_every_execution([&](AskedTree::Judge judge) {
      const auto enough = [](const auto& tree, NodeId node) { return tree[0].visits > 20 && tree[node].mean() > 0.6; };
      return Mcts(base, std::move(judge), Uct(), KeepAll(), MeanBackup(), enough);
    });
  }
}

TEST_CASE("MCTS over rollouts gives the same tree for any execution, whether their steps are grafted or not") {
  const auto reward = [](const AskedTree::State& s) { return static_cast<double>(s.hash % 100) / 100; };
  for (const auto expand : {MctsOptions::Expand::all, MctsOptions::Expand::one})
    for (const std::uint32_t window : {1u, 8u, 32u}) {
      const MctsOptions options{.simulations = 40, .width = 3, .window = window, .expand = expand};
      same_for_every_execution(
          [&](AskedTree::Judge) { return Mcts(options, Rollout({.n = 2, .max_steps = 4}, reward)); });
      same_for_every_execution(
          [&](AskedTree::Judge) { return Mcts(options, Rollout({.n = 2, .max_steps = 4}, reward, Grafted())); });
    }
}

TEST_CASE("beams, layers, best-first search and best of N give the same tree for any execution") {
  same_for_every_execution(
      [](AskedTree::Judge judge) { return Beam({.beam = 3, .width = 3, .max_depth = 4}, std::move(judge)); });
  const auto reward = [](const AskedTree::State& s) { return static_cast<double>(s.hash % 100) / 100; };
  same_for_every_execution([&](AskedTree::Judge) {
    return Layered({.width = 2}, Rollout({.n = 3, .max_steps = 4}, reward), AllOf(Before(Vote(2)), Keep(TopK(1))));
  });
  same_for_every_execution([](AskedTree::Judge judge) {
    const ThresholdSkip skip(0, 0.8, ThresholdSkip::Of::best);
    return Layered({.width = 3}, std::move(judge), AllOf(skip, Keep(TopK(2))));
  });
  same_for_every_execution(
      [](AskedTree::Judge judge) { return BestFirst({.width = 3, .expansions = 20, .answers = 3}, std::move(judge)); });
  same_for_every_execution([](AskedTree::Judge judge) { return BestOfN({.n = 6}, std::move(judge)); });
  const auto rank = [](Kind kind, double value) { return kind == 0 ? value : -value; };
  const auto text = [](std::uint32_t action) { return std::to_string(action); };
  using Search = HierarchicalBeam<AskedTree::Judge, decltype(rank), decltype(text)>;
  same_for_every_execution([&](AskedTree::Judge judge) {
    Search::Options options;
    options.levels = {{0, {.width = 3, .keep = 2, .oversample = 2, .diversity = Diversity::none}},
                      {1, {.width = 2, .keep = 3}}};
    return Search(options, std::move(judge), rank, text);
  });
}

TEST_CASE("a search that its clock ended is replayed to the byte by its steps, with every engine") {
  const auto replayed = [](auto make) {
    Budget clock;  // each look at it is a second later
    clock.seconds = 3;
    clock.clock = [now = 0.0]() mutable { return now++; };
    World world(executions[0]);
    auto engine = make(clock, AskedTree::Judge(world.model));
    const auto tree = world.scheduler.run(engine(world.env, AskedTree::State(), Seed(3)));
    CHECK(tree.ending == SearchFacts::Ending::budget);
    CHECK(tree.steps > 0);
    Budget steps;
    steps.steps = tree.steps;
    auto again = make(steps, AskedTree::Judge(world.model));
    const auto same = world.scheduler.run(again(world.env, AskedTree::State(), Seed(3)));
    CHECK(testing::tree_text(same, testing::shown) == testing::tree_text(tree, testing::shown));
    CHECK(same.steps == tree.steps);
  };
  using Judge = AskedTree::Judge;
  replayed([](const Budget& budget, Judge judge) {
    return Mcts({.simulations = 60, .width = 3, .window = 4, .budget = budget}, std::move(judge));
  });
  replayed([](const Budget& budget, Judge judge) {
    return Beam({.beam = 3, .width = 3, .max_depth = 4, .budget = budget}, std::move(judge));
  });
  replayed([](const Budget& budget, Judge judge) {
    return BestFirst({.width = 3, .expansions = 50, .answers = 99, .budget = budget}, std::move(judge));
  });
  replayed([](const Budget& budget, Judge judge) { return BestOfN({.n = 10, .budget = budget}, std::move(judge)); });
  replayed([](const Budget& budget, Judge judge) {
    return Layered({.width = 3, .budget = budget}, std::move(judge), Keep(TopK(2)));
  });
  const auto rank = [](Kind, double value) { return value; };
  const auto text = [](std::uint32_t action) { return std::to_string(action); };
  using Search = HierarchicalBeam<Judge, decltype(rank), decltype(text)>;
  replayed([&](const Budget& budget, Judge judge) {
    Search::Options options;
    options.levels = {{0, {.width = 3, .keep = 3}}};
    options.budget = budget;
    return Search(options, std::move(judge), rank, text);
  });
}

TEST_CASE("an answer that is told again changes nothing, with every engine") {
  // From a backend that hands every reply over twice, late and with another text the second time; and from outside.
  const auto unmoved = [](auto make) {
    const auto grown = [&](auto&& model_of, auto&& drive) {
      Scheduler scheduler;
      ModelPort model = model_of(scheduler);
      RetrieverPort retriever = scheduler.retriever(testing::answer_all<Query, Passages>(&AskedTree::find));
      AskedTree env(model, retriever, 4);
      auto engine = make(AskedTree::Judge(model));
      auto task = engine(env, AskedTree::State(), Seed(3));
      return testing::tree_text(drive(scheduler, model, std::move(task)), testing::shown);
    };
    const auto run = [](Scheduler& scheduler, ModelPort&, auto task) { return scheduler.run(std::move(task)); };
    const std::string once =
        grown([](Scheduler& s) { return s.model(testing::answer_all<Prompt, Completion>(&AskedTree::say)); }, run);
    const std::string twice = grown([](Scheduler& s) { return s.model(std::make_unique<Repeating>()); }, run);
    CHECK(twice == once);
    const auto tell = [](Scheduler& scheduler, ModelPort& model, auto task) {
      scheduler.start(task);
      for (bool more = scheduler.step(); more || !model.pending().empty(); more = scheduler.step()) {
        if (model.pending().empty()) continue;
        const auto [ticket, prompt] = model.pending().back();
        scheduler.resume(model, ticket, AskedTree::say(*prompt));
        scheduler.resume(model, ticket, Outcome<Completion>(Completion("told again")));
      }
      return task.take();
    };
    CHECK(grown([](Scheduler& s) { return s.external_model(); }, tell) == once);
  };
  using Judge = AskedTree::Judge;
  unmoved([](Judge judge) { return Mcts({.simulations = 40, .width = 3, .window = 8}, std::move(judge)); });
  unmoved([](Judge judge) { return Beam({.beam = 2, .width = 2, .max_depth = 4}, std::move(judge)); });
  unmoved([](Judge judge) { return BestFirst({.width = 2, .expansions = 12}, std::move(judge)); });
  unmoved([](Judge judge) { return BestOfN({.n = 4}, std::move(judge)); });
  unmoved([](Judge judge) { return Layered({.width = 2}, std::move(judge), Keep(TopK(1))); });
}

TEST_CASE("paths of 100,000 steps overflow no stack and take time in proportion") {
  // A path of n steps must ask the environment a number of times that grows with n, not with its square.
  struct Counting : toy::Corridor {
    using Corridor::Corridor;
    mutable std::uint64_t asked = 0;
    auto kinds(const State& s) const { return ++asked, Corridor::kinds(s); }
    auto propose(const State& s, Kind k, std::uint32_t n, const Context& c) const {
      return ++asked, Corridor::propose(s, k, n, c);
    }
    State step(const State& s, Action a) const { return ++asked, Corridor::step(s, a); }
  };
  const std::uint32_t n = 100'000;
  const auto walked = [](const Counting& c, const Counting::State& s) { return c.value(s); };
  const auto share = [](const Counting::State& s) { return s.position / 1e5; };
  const auto walk = [&](auto engine, std::uint64_t per_step = 10) {
    Counting env(n);
    const auto tree = testing::complete(engine(env, env.root(), Seed(1)));
    CHECK(tree.size() > n);
    CHECK(tree[0].visits > 0);
    CHECK(testing::broken_rule(tree) == "");
    CHECK(env.asked < per_step * n);
    return tree;
  };
  walk(BestOfN({.n = 1}, walked));
  const auto beam = walk(Beam({.beam = 1, .width = 1, .max_depth = 2 * n}, walked));
  CHECK(beam[0].mean() == doctest::Approx(0.500005));  // the mean of 1, 2 ... 100,000 over 100,000
  CHECK(walk(Layered({.width = 1}, walked, Keep(TopK(1))))[0].visits == n);
  CHECK(walk(BestFirst({.width = 2, .expansions = 2 * n}, walked))[0].visits == 2 * n);
  const auto rank = [](Kind, double value) { return value; };
  const auto text = [](Counting::Action) { return std::string(); };
  using Search = HierarchicalBeam<decltype(walked), decltype(rank), decltype(text)>;
  walk(Search({{{0, {.width = 1, .keep = 1}}}, 2 * n}, walked, rank, text));
  // One simulation whose rollout goes to the end, all of it grafted; one more that walks down it.
  const auto grafted = walk(Mcts({.simulations = 1, .width = 1}, Rollout({.n = 1, .max_steps = n}, share, Grafted())));
  CHECK(grafted.size() == n + 1);
  CHECK(grafted.path(n).size() == n + 1);
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
          ModelPort model = scheduler.model(
              testing::shuffled<Prompt, Completion>(say, static_cast<std::uint64_t>(fatal), &traffic), 16);
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

}  // namespace contract_test
