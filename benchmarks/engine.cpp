/// UCT on the toy tree: Mcts as a plain loop beside a hand-written arena loop that does the same and nothing else. The
/// target is a ratio of at most 1.25 (PUCT 1.35) at 10 k and at 1 M simulations, and at most 40 bytes per node besides
/// state and action. Depth 8 is for comparison with others: the tree is soon complete, descents repeat themselves, and
/// the processor guesses the branches of Mcts right while it must wait for the conditional moves that compilers make of
/// the bound's.
#include <espalier/llm/scheduler.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/toy/uniform_tree.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace espalier;
using namespace espalier::detail;
using toy::UniformTree;

/// The formulas of the two policies, written for the arena; a prior is 1/3.
struct UctFormula {
  static double scale(std::uint32_t visits) {
    return 1.4142135623730951 * std::sqrt(std::log(static_cast<double>(visits)));
  }
  static double score(double total, std::uint32_t visits, double scaled) {
    const double inverse = 1 / static_cast<double>(visits);
    return total * inverse + scaled * std::sqrt(inverse);
  }
};
struct PuctFormula {
  static double scale(std::uint32_t visits) { return 2.5 * std::sqrt(static_cast<double>(visits)); }
  static double score(double total, std::uint32_t visits, double scaled) {
    return total / visits + scaled * static_cast<double>(1.0F / 3) / (1.0 + visits);
  }
};

/// The lower bound: the same algorithm for this one problem, a vector of nodes with three links to children.
template <class Formula>
class Arena {
 public:
  struct Node {
    double total = 0;
    std::uint64_t hash = 1;
    std::uint32_t visits = 0;
    std::uint32_t parent = 0;
    std::array<std::uint32_t, 3> child{};
    std::uint16_t depth = 0;
    std::uint16_t children = 0;
  };
  Arena(std::uint32_t simulations, std::uint32_t depth) {
    nodes_.reserve(simulations + std::size_t(1));
    nodes_.push_back(Node());
    for (std::uint32_t i = 0; i < simulations; ++i) simulate(depth);
  }
  [[nodiscard]] const Node& root() const { return nodes_.front(); }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  void simulate(std::uint32_t depth) {
    std::uint32_t id = 0;
    while (nodes_[id].depth < depth && nodes_[id].children == 3) {
      const Node& node = nodes_[id];
      const double scaled = Formula::scale(node.visits);
      std::array<double, 3> scores;
      for (std::size_t i = 0; i < 3; ++i)
        scores[i] = Formula::score(nodes_[node.child[i]].total, nodes_[node.child[i]].visits, scaled);
      std::size_t best = scores[1] > scores[0] ? 1 : 0;
      if (scores[2] > scores[best]) best = 2;
      id = node.child[best];
    }
    if (nodes_[id].depth < depth) {
      Node fresh;
      fresh.hash = mix64(3 * nodes_[id].hash + nodes_[id].children + 1);
      fresh.depth = static_cast<std::uint16_t>(nodes_[id].depth + 1);
      fresh.parent = id;
      nodes_[id].child[nodes_[id].children++] = static_cast<std::uint32_t>(nodes_.size());
      id = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(fresh);
    }
    const double value = static_cast<double>(nodes_[id].hash >> 11) * 0x1p-53;
    for (;; id = nodes_[id].parent) {
      nodes_[id].total += value;
      ++nodes_[id].visits;
      if (id == 0) return;
    }
  }
  std::vector<Node> nodes_;
};

template <class F>
double seconds(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Interleaved runs of both; prints medians. Returns the ratio, or a negative number if the trees differ.
template <class Formula, class Select>
double compare(const char* name, Select select, std::uint32_t simulations, std::uint32_t depth) {
  UniformTree env({.branching = 3, .depth = depth});
  const auto evaluate = [](const UniformTree&, const UniformTree::State& s) { return UniformTree::value(s); };
  Mcts engine({.simulations = simulations, .width = 3, .expand = MctsOptions::Expand::one}, evaluate, select);
  const std::uint32_t repeats = std::max(1u, 200'000 / simulations);
  std::vector<double> ours, bound;
  std::size_t nodes = 0;
  bool equal = true;
  for (int run = 0; run < 9; ++run) {
    bound.push_back(seconds([&] {
      for (std::uint32_t i = 0; i < repeats; ++i) nodes = Arena<Formula>(simulations, depth).size();
    }));
    ours.push_back(seconds([&] {
      for (std::uint32_t i = 0; i < repeats; ++i)
        equal = engine.search(env, env.root(), Seed(1)).size() == nodes && equal;
    }));
  }
  const auto tree = engine.search(env, env.root(), Seed(1));
  const Arena<Formula> arena(simulations, depth);
  equal = equal && tree[tree.root()].total == arena.root().total;
  const auto median = [&](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + 4, v.end());
    return v[4] * 1e6 / repeats / simulations;
  };
  const double a = median(ours), b = median(bound);
  std::printf("%-5s depth %2u %8u simulations %8zu nodes   %.3f us   bound %.3f us   ratio %.2f%s\n", name, depth,
              simulations, nodes, a, b, a / b, equal ? "" : "   THE TREES DIFFER");
  return equal ? a / b : -1;
}

/// The same search as a task, with so many simulations under way in the tree: what the window costs an engine that
/// waits for nothing.
template <class Select>
void windowed(const char* name, Select select, std::uint32_t simulations) {
  for (const std::uint32_t window : {1U, 8U, 32U}) {
    double best = 1e300;
    for (int run = 0; run < 3; ++run) {
      const auto evaluate = [](const UniformTree&, const UniformTree::State& s) { return UniformTree::value(s); };
      Mcts engine({.simulations = simulations, .width = 3, .window = window, .expand = MctsOptions::Expand::one},
                  evaluate, select);
      UniformTree env({.branching = 3, .depth = 16});
      Scheduler scheduler;
      best = std::min(best, 1e6 / simulations * seconds([&] { scheduler.run(engine(env, env.root(), Seed(1))); }));
    }
    std::printf("%-5s depth 16 %8u simulations as a task, window %2u  %.3f us\n", name, simulations, window, best);
  }
}

}  // namespace

int main() {
  const std::size_t node = sizeof(Node<double>), state = sizeof(UniformTree::State),
                    action = sizeof(UniformTree::Action);
  std::printf("bytes per node: %zu (target 40), besides state %zu and action %zu; bound: %zu in all\n", node, state,
              action, sizeof(Arena<UctFormula>::Node));
  const double small = compare<UctFormula>("UCT", Uct(), 10'000, 16),
               large = compare<UctFormula>("UCT", Uct(), 1'000'000, 16);
  const double flat_small = compare<UctFormula>("UCT", Uct(), 10'000, 8),
               flat_large = compare<UctFormula>("UCT", Uct(), 1'000'000, 8);
  const double puct_small = compare<PuctFormula>("PUCT", Puct(), 10'000, 16),
               puct_large = compare<PuctFormula>("PUCT", Puct(), 1'000'000, 16);
  windowed("UCT", Uct(), 10'000);
  windowed("PUCT", Puct(), 10'000);
  std::printf("ratio at 1 M beside 10 k: %.2f at depth 16, %.2f at depth 8\n", large / small, flat_large / flat_small);
  const bool met = std::max(small, large) <= 1.25 && std::max(puct_small, puct_large) <= 1.35 && node <= 40;
  std::printf("target (ratio at depth 16 <= 1.25, PUCT 1.35, <= 40 bytes): %s\n", met ? "met" : "NOT met");
  return std::min({small, large, flat_small, flat_large, puct_small, puct_large}) < 0;
}
