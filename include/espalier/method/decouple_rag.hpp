#pragma once

#include <espalier/method/decouple_values.hpp>
#include <espalier/search/hierarchical_beam.hpp>
#include <espalier/search/mcts.hpp>

#include <limits>
#include <string>
#include <utility>

/// DecoupleRAG (DecoupleSearch, arXiv 2510.21712): planning and searching valued apart. Trees are labelled by Monte-Carlo tree
/// search with a judge; answers come from a hierarchical beam over plans and their queries.
namespace espalier::method {

/// UCT over mean search values (Eq. 3); with `divide_again` as in the published code, which divides the mean by N once more.
class DecoupleUct {
 public:
  DecoupleUct(double w, bool divide_again) : w_(w), divide_again_(divide_again) {}
  [[nodiscard]] auto at(const Node<Dual>& parent) const {
    const double n = parent.visits + parent.pending;
    const double scaled = n > 1 ? w_ * std::sqrt(std::log(n)) : 0;
    return [scaled, again = divide_again_](const Node<Dual>& child) {
      const double visits = child.visits + child.pending;
      if (visits == 0) return std::numeric_limits<double>::infinity();
      return utility(child.total) / (again ? visits * visits : visits) + scaled / std::sqrt(visits);
    };
  }
  double operator()(const Node<Dual>& parent, const Node<Dual>& child) const { return at(parent)(child); }

 private:
  double w_;
  bool divide_again_;
};

/// Ends a tree that holds so many right answers.
class EnoughCorrect {
 public:
  explicit EnoughCorrect(std::uint32_t enough) : enough_(enough) {}
  bool operator()(const DualTree& tree, NodeId node) {
    correct_ += tree[node].status == Status::terminal && tree[node].visits == 1 && tree.state(node).answer() && tree[node].total.search > 0;
    return enough_ > 0 && correct_ >= enough_;
  }

 private:
  std::uint32_t enough_, correct_ = 0;
};

/// Labels states with both values (section 3.3, Eq. 3, 6 and 7).
class DecoupleLabels {
 public:
  DecoupleLabels(const DecoupleOptions& options, const rag::Environment& loop)
      : environment_(loop, false, std::numeric_limits<std::uint32_t>::max()),
        engine_({.simulations = checked(options).simulations, .width = options.children, .max_depth = options.max_depth, .window = options.window,
                 .solve = true, .range = {-1, 1}, .budget = showing_rag_trees(options.budget)},
                DecoupleValue(options, true), DecoupleUct(options.w, options.divide_again), MeanBackup(), EnoughCorrect(options.stop_correct)) {}

  /// Grows the tree of one question. This object must outlive the task.
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    DualTree tree = co_await engine_(environment_, std::move(root), seed);
    co_return to_rag_tree(std::move(tree));
  }

 private:
  DecoupleEnvironment environment_;
  Mcts<DecoupleValue, DecoupleUct, MeanBackup, EnoughCorrect> engine_;
};

/// Answers by a beam over plans, and for each plan that is kept a beam over its queries (section 3.4). Of the finished
/// answers the one with the highest plan value is marked "selected".
class DecoupleBeam {
 public:
  DecoupleBeam(const DecoupleOptions& options, const rag::Environment& loop, ValueSource source = nullptr)
      : environment_(loop, true, checked(options).max_depth),
        engine_({.levels = {{DecoupleEnvironment::plan, {.width = options.B1, .keep = options.keep1}},
                            {DecoupleEnvironment::query, {.width = options.B2, .keep = options.keep2, .oversample = options.oversample, .diversity = options.diversity}}},
                 .max_depth = 2 * options.max_depth + 1, .budget = showing_rag_trees(options.budget)},
                DecoupleValue(options, false, std::move(source)), Rank(), Text()) {}

  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    DualTree tree = co_await engine_(environment_, std::move(root), seed);
    NodeId best = no_node;
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::terminal && tree.state(id).answer() && (best == no_node || tree[id].mean().plan > tree[best].mean().plan)) best = id;
    rag::Tree out = to_rag_tree(std::move(tree));
    if (best != no_node) out.annotate("selected", best, 1);
    co_return out;
  }

 private:
  struct Rank {
    double operator()(Kind kind, const Dual& value) const { return kind == DecoupleEnvironment::plan ? value.plan : value.search; }
  };
  struct Text {
    std::string operator()(const rag::Action& action) const { return action.text; }
  };
  DecoupleEnvironment environment_;
  HierarchicalBeam<DecoupleValue, Rank, Text> engine_;
};

}  // namespace espalier::method
