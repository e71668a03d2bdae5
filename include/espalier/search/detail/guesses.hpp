#pragma once

#include <espalier/core/task.hpp>
#include <espalier/search/detail/layered_growth.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace espalier::detail {

/// The guesses of a search by Layered: tasks that begin stages before the search knows that it will come to them. A
/// guess writes nothing that the search reads. It makes the requests that the search would make, so that a journal
/// answers these at once.
class Guesses {
 public:
  Guesses() = default;
  Guesses(const Guesses&) = delete;
  Guesses& operator=(const Guesses&) = delete;
  ~Guesses() { end(); }
  /// Ends all of them.
  void end() {
    for (Guess& guess : all_) abandon(std::move(guess.task));
    all_.clear();
  }

  /// Begins the `count` stages that are likeliest to follow at a growing node: its next one, then the first ones of the
  /// children with the most samples. grow(copy of the tree, node to grow) is the task. The requests that the search
  /// makes now go first.
  template <class Env, class Tree, class Grow>
  void begin(Env& env, const Tree& tree, const LayeredGrowth& growth, std::uint64_t count, std::uint32_t width,
             const Grow& grow) {
    LayeredGrowth next = growth;
    ++next.stage;
    if (next.unfinished() && next.drawn(tree, width) < width) {
      --count;
      Tree copy = tree;
      for (const auto& [child, seed] : growth.children)
        if (copy[child].status == Status::open) copy.prune(child, Reason::not_best);
      add(next, grow(std::move(copy), next));
    }
    std::vector<std::pair<NodeId, Seed>> children = growth.children;
    std::stable_sort(children.begin(), children.end(),
                     [&](const auto& a, const auto& b) { return tree[a.first].prior > tree[b.first].prior; });
    for (const auto& [child, seed] : children) {
      if (count == 0 || tree[child].status != Status::open) continue;
      const LayeredGrowth first(env, tree, child, seed);
      if (!first.unfinished()) continue;
      --count;
      if (!has(first)) add(first, grow(tree, first));
    }
  }
  /// Ends the guesses that turned out wrong: stages of pruned nodes, and stages that were skipped. The frontier is
  /// about to draw.
  template <class Tree>
  void settle(const Tree& tree, const std::vector<LayeredGrowth>& frontier) {
    std::erase_if(all_, [&](Guess& guess) {
      for (const LayeredGrowth& growth : frontier) guess.right |= growth.node == guess.node && growth.draws(guess.kind);
      const bool wrong = !guess.right && tree[guess.node].status != Status::open;
      if (wrong) abandon(std::move(guess.task));
      return wrong || guess.task.done();
    });
  }

 private:
  struct Guess {
    NodeId node = no_node;
    Kind kind = 0;
    Task<void> task;
    bool right = false;  ///< the search has come to it
  };
  [[nodiscard]] bool has(const LayeredGrowth& growth) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const Guess& guess) { return guess.node == growth.node && growth.draws(guess.kind); });
  }
  void add(const LayeredGrowth& growth, Task<void> task) {
    start_later(task);
    all_.push_back({growth.node, growth.kinds[growth.stage], std::move(task)});
  }

  std::vector<Guess> all_;
};

}  // namespace espalier::detail
