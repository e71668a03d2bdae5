#pragma once

#include <espalier/search/budget.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/detail/pruning.hpp>
#include <espalier/search/detail/tree_search.hpp>

#include <cstdint>
#include <iterator>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace espalier {

/// Best-first search. Among the states without children, the one of the highest value goes first (ties: higher prior,
/// then older). It gets up to `width` children of each legal kind, and all of them are valued. A terminal state counts
/// as an answer when its turn comes. The search ends after `answers` answers, when nothing is left, or by its limits.
/// An expansion that the budget cannot pay for, its values included, is not begun. The pruning policy is asked about a
/// state's children ahead of values, and once they have them.
template <class Evaluate, class Prune = KeepAll>
class BestFirst : public detail::TreeSearch<BestFirst<Evaluate, Prune>, Evaluate, Prune> {
 public:
  struct Options {
    std::uint32_t width = 4;                                              ///< samples per state and kind, > 0
    std::uint32_t expansions = 32;                                        ///< states that get children, > 0
    std::uint32_t answers = 1;                                            ///< answers to find, > 0
    std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();  ///< states this deep get no children, > 0
    Budget budget{};                                                      ///< checked before each expansion
    std::uint32_t value_calls = 0;  ///< completions that the value of a child asks for
  };
  BestFirst(Options options, Evaluate evaluate, Prune prune = Prune())
      : options_(std::move(options)), evaluate_(std::move(evaluate)), prune_(std::move(prune)) {
    if (options_.width == 0) bad_option("width", options_.width, "1 or more");
    if (options_.expansions == 0) bad_option("expansions", options_.expansions, "1 or more");
    if (options_.answers == 0) bad_option("answers", options_.answers, "1 or more");
    if (options_.max_depth == 0) bad_option("max_depth", options_.max_depth, "1 or more");
    detail::refuse(prune_, "BestFirst", false, true);
    options_.budget.check();
  }

 private:
  friend detail::TreeSearch<BestFirst, Evaluate, Prune>;

  /// A state that waits for its turn.
  struct Candidate {
    double value = 0;
    float prior = 1;
    detail::Seeded place{};
    std::uint32_t depth = 0;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      if (a.value != b.value) return a.value < b.value;
      if (a.prior != b.prior) return a.prior < b.prior;
      return a.place.node > b.place.node;
    }
  };

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    detail::TreeBy<Evaluate, Env> tree(std::move(root), seed);
    if (std::ranges::empty(env->kinds(tree.state(tree.root())))) tree[tree.root()].status = Status::terminal;
    std::priority_queue<Candidate> waiting;
    waiting.push({.place = {tree.root(), seed}});
    const double began = options_.budget.start(tree);
    for (std::uint32_t found = 0; !waiting.empty();) {
      const Candidate next = waiting.top();
      waiting.pop();
      if (tree[next.place.node].status == Status::terminal) {
        if (++found == options_.answers) break;
        continue;
      }
      if (next.depth >= options_.max_depth) continue;
      std::vector<detail::Seeded> places(1, next.place);
      const std::uint64_t calls = detail::calls_of(*env, tree, places, options_.width, options_.value_calls);
      if (tree.steps >= options_.expansions) tree.ending = SearchFacts::Ending::budget;
      if (tree.steps >= options_.expansions || !options_.budget.begin_step(tree, began, calls)) break;
      const std::vector<detail::Seeded> fresh = co_await detail::grow_valued(
          &evaluate_, &prune_, env, &tree, std::move(places), &options_, calls, "BestFirst");
      for (const detail::Seeded& child : fresh)
        waiting.push({utility(tree[child.node].mean()), tree[child.node].prior, child, next.depth + 1});
    }
    detail::finish(tree);
    co_return tree;
  }

  Options options_;
  Evaluate evaluate_;
  Prune prune_;
};

}  // namespace espalier
