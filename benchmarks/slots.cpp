/// How full a model server's slots are while trees grow by MCTS: a server in virtual time with log-normal service (mean
/// 1, sigma 0.5), so nothing but waiting is measured; start-up and tail included. Beside it the same work in barrier
/// waves, and the bound: work / slots, or the critical path. Then what a window costs in quality at equal calls. Usage:
/// bench_slots
#include <espalier/llm/scheduler.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include "virtual_server.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace {

using namespace espalier;
using namespace espalier::detail;
using benchmarks::service_time;
using benchmarks::VirtualServer;

Prompt asked(const toy::UniformTree::State& state, Seed seed) {
  return Prompt(std::to_string(state.hash), Sampling{.temperature = 1}, seed.value());
}

/// The toy tree behind a model: one call draws a node's children.
class AskingTree : public toy::UniformTree {
 public:
  AskingTree(ModelPort model, std::uint32_t depth)
      : UniformTree({.branching = 3, .depth = depth}), model_(std::move(model)) {}
  Task<std::vector<Proposal<Action>>> propose(State state, Kind kind, std::uint32_t n, Context context) {
    Prompt prompt = asked(state, context.seed);
    co_await model_(std::move(prompt));
    const auto moves = UniformTree::propose(state, kind, n, context);
    co_return std::vector<Proposal<Action>>(moves.begin(), moves.end());
  }
  [[nodiscard]] const ModelPort& model() const { return model_; }

 private:
  ModelPort model_;
};

/// Three calls one after the other.
struct AskThrice {
  Task<double> operator()(AskingTree& tree, const toy::UniformTree::State& state, const Context& context) {
    return ask(&tree, state, context);
  }
  static Task<double> ask(AskingTree* tree, toy::UniformTree::State state, Context context) {
    for (std::uint64_t i = 1; i <= 3; ++i) {
      Prompt prompt = asked(state, context.seed.child(i));
      co_await tree->model()(std::move(prompt));
    }
    co_return toy::UniformTree::value(state);
  }
};

void slots(std::size_t questions, std::uint32_t simulations, std::size_t slots, std::uint32_t window) {
  const auto clock = std::make_shared<VirtualServer::Clock>();
  Scheduler scheduler;
  AskingTree tree(scheduler.model(std::make_unique<VirtualServer>(slots, clock), slots), 40);
  Mcts<AskThrice> engine({.simulations = simulations, .width = 3, .window = window}, AskThrice());
  scheduler.for_each(
      questions, Scheduler::unlimited, [&](std::size_t i) { return engine(tree, tree.root(), Seed(i, "slots")); },
      [](std::size_t, auto outcome) { (void)std::move(outcome).value(); });
  const double bound = std::max(clock->busy / static_cast<double>(slots), 0.0);
  std::printf(
      "%zu questions, %u simulations of 4 calls, %zu slots, window %u: %.1f %% of slot time used, time %.3f of work / "
      "slots\n",
      questions, simulations, slots, window, 100 * clock->busy / (static_cast<double>(slots) * clock->now),
      clock->now / bound);
}

/// The same calls in waves of `window` simulations that wait for each other.
void waves(std::uint32_t simulations, std::size_t slots, std::uint32_t window) {
  double now = 0, busy = 0;
  std::uint64_t request = 1;
  for (std::uint32_t begun = 0; begun < simulations; begun += window) {
    std::vector<double> ends;  // of the chains; window <= slots, so that each has a slot of its own
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(window, static_cast<std::uint32_t>(slots)); ++i) {
      double chain = 0;
      for (int call = 0; call < 4; ++call) chain += service_time(mix64(request++));
      ends.push_back(chain);
      busy += chain;
    }
    now += *std::max_element(ends.begin(), ends.end());
  }
  std::printf("  in barrier waves of %u: %.1f %%\n", window, 100 * busy / (static_cast<double>(slots) * now));
}

/// The best sum of values below a state, its own not counted.
double best_below(const toy::UniformTree& tree, const toy::UniformTree::State& state) {
  double best = 0;
  if (tree.kinds(state).empty()) return 0;
  for (std::uint32_t a = 0; a < 3; ++a) {
    const auto next = tree.step(state, a);
    best = std::max(best, toy::UniformTree::value(next) + best_below(tree, next));
  }
  return best;
}

/// Sum of values along a random path to the end.
struct RandomPath {
  const toy::UniformTree* tree;
  double operator()(AskingTree&, toy::UniformTree::State state, const Context& context) const {
    Random random(context.seed);
    double sum = toy::UniformTree::value(state);
    while (!tree->kinds(state).empty()) {
      state = tree->step(state, random.below(3));
      sum += toy::UniformTree::value(state);
    }
    return sum / 8;
  }
};

/// What is lost by following the most visited children for three moves, as a share of the optimum.
void quality(std::uint32_t window, std::uint32_t trees) {
  constexpr std::uint32_t depth = 8;
  double lost = 0;
  const toy::UniformTree plain({.branching = 3, .depth = depth});
  for (std::uint64_t i = 0; i < trees; ++i) {
    const auto clock = std::make_shared<VirtualServer::Clock>();
    Scheduler scheduler;
    AskingTree asking(scheduler.model(std::make_unique<VirtualServer>(64, clock), 64), depth);
    Mcts<RandomPath> engine({.simulations = 200, .width = 3, .window = window}, RandomPath{&plain}, Uct({.w = 0.3}));
    const toy::UniformTree::State root{mix64(i), 0};
    const auto tree = scheduler.run(engine(asking, root, Seed(i, "quality")));
    NodeId at = tree.root();
    double found = 0;
    for (int move = 0; move < 3; ++move) {
      const auto children = tree.children(at);
      at = *std::max_element(children.begin(), children.end(),
                             [&](NodeId a, NodeId b) { return tree[a].visits < tree[b].visits; });
      found += toy::UniformTree::value(tree.state(at));
    }
    const double optimum = best_below(plain, root);
    lost += (optimum - found - best_below(plain, tree.state(at))) / optimum / trees;
  }
  std::printf("quality, 200 simulations, window %u: %.2f %% of the optimum lost (mean of %u trees)\n", window,
              100 * lost, trees);
}

}  // namespace

int main() {
  slots(64, 200, 64, 8);
  slots(64, 200, 64, 16);
  slots(1, 2000, 32, 32);
  waves(2000, 32, 32);
  slots(1, 2000, 32, 64);
  slots(1, 2000, 32, 1);
  for (const std::uint32_t window : {1U, 8U, 32U, 64U}) quality(window, 300);
}
