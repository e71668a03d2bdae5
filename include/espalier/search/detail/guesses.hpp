#pragma once

#include <espalier/core/task.hpp>
#include <espalier/search/detail/layered_growth.hpp>

#include <algorithm>
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
  ~Guesses() {
    for (Guess& guess : all_) abandon(std::move(guess.task));
  }

  [[nodiscard]] bool has(NodeId node, Kind kind) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Guess& g) { return g.node == node && g.kind == kind; });
  }
  /// Begins the stage that draws `kind` at a node, after the requests that the search itself makes now.
  void begin(NodeId node, Kind kind, Task<void> task) {
    start_later(task);
    all_.push_back({node, kind, std::move(task)});
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
  std::vector<Guess> all_;
};

}  // namespace espalier::detail
