#pragma once

#include <espalier/method/decouple/detail/environment.hpp>
#include <espalier/method/detail/evidence.hpp>
#include <espalier/search/hierarchical_beam.hpp>
#include <espalier/search/mcts_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

/// DecoupleRAG (DecoupleSearch, arXiv 2510.21712) values planning and searching separately. Trees are labelled by
/// Monte-Carlo tree search with a judge. Answers come from a hierarchical beam over plans and their queries.
namespace espalier::method {

namespace detail {

/// UCT over mean search values (Eq. 3). `divide_again`: the mean is divided by N once more, as in the published code.
class DecoupleUct {
 public:
  DecoupleUct(double w, bool divide_again) : w_(w), divide_again_(divide_again) {}
  [[nodiscard]] auto at(const Node<Dual>& parent) const {
    const double n = parent.visits + parent.pending;
    const double scaled = n > 1 ? w_ * std::sqrt(std::log(n)) : 0;
    return [scaled, &parent, again = divide_again_](const Node<Dual>& child) {
      const double visits = child.visits + child.pending;
      if (visits == 0) return std::numeric_limits<double>::infinity();
      const Node<Dual>& known = child.visits > 0 ? child : parent;
      const double divisor = std::max(known.visits, 1U) * (again ? visits : 1);
      return utility(known.total) / divisor + scaled / std::sqrt(visits);
    };
  }
  double operator()(const Node<Dual>& parent, const Node<Dual>& child) const { return at(parent)(child); }

 private:
  double w_;
  bool divide_again_;
};

/// Ends a tree after a given number of right answers.
class EnoughCorrect {
 public:
  explicit EnoughCorrect(std::uint32_t enough) : enough_(enough) {}
  bool operator()(const DualTree& tree, NodeId node) {
    correct_ += tree[node].status == Status::terminal && tree[node].visits == 1 && tree.state(node).answer() &&
                tree[node].total.search > 0;
    return enough_ > 0 && correct_ >= enough_;
  }

 private:
  std::uint32_t enough_, correct_ = 0;
};

/// Answers by a beam over plans, and for each kept plan a beam over its queries (section 3.4). Of the terminal answers,
/// the one with the highest plan value gets the annotation "selected".
class DecoupleRagBeam {
 public:
  DecoupleRagBeam(const DecoupleRagOptions& options, const rag::Environment& loop, const ValueSource& source = nullptr)
      : environment_(loop, true, checked(options).max_depth),
        engine_({.levels = {{DecoupleRagEnvironment::plan, {.width = options.B1, .keep = options.keep1}},
                            {DecoupleRagEnvironment::query,
                             {.width = options.B2,
                              .keep = options.keep2,
                              .oversample = options.oversample,
                              .diversity = options.diversity}}},
                 .max_depth = 2 * options.max_depth + 1,
                 .budget = options.budget.keeping(1),  // for the forced answer
                 .value_calls = options.values == DecoupleRagOptions::Values::judge && !source},
                DecoupleRagValue(options, false, source), Rank(), Text(), options.prune) {}

  template <class = void>
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    DualTree tree = co_await engine_(environment_, std::move(root), seed);
    NodeId best = no_node;
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::terminal && tree.state(id).answer() &&
          (best == no_node || tree[id].mean().plan > tree[best].mean().plan))
        best = id;
    const auto worth = [&tree](NodeId id) { return tree[id].mean().search; };
    // Where no path was finished, a budget ran out, or what the model said could not be read.
    if (best == no_node) best = co_await force_answer(&environment_.loop(), &tree, worth);
    rag::Tree out = to_rag_tree(std::move(tree));
    if (best != no_node) out.annotate("selected", best, 1);
    co_return out;
  }

 private:
  struct Rank {
    double operator()(Kind kind, const Dual& value) const {
      return kind == DecoupleRagEnvironment::plan ? value.plan : value.search;
    }
  };
  struct Text {
    std::string operator()(const rag::Action& action) const { return action.text; }
  };
  DecoupleRagEnvironment environment_;
  HierarchicalBeam<DecoupleRagValue, Rank, Text, AnyPruning> engine_;
};

}  // namespace detail

/// Labels states with both values (section 3.3, Eq. 3, 6 and 7).
class DecoupleRag {
 public:
  DecoupleRag(const DecoupleRagOptions& options, const rag::Environment& loop)
      : environment_(loop, false, std::numeric_limits<std::uint32_t>::max()),
        engine_({.simulations = detail::checked(options).simulations,
                 .width = options.children,
                 .max_depth = options.max_depth,
                 .window = options.window,
                 .values = options.judge_all ? MctsOptions::Values::all : MctsOptions::Values::each,
                 .solve = true,
                 .range = {-1, 1},
                 .budget = options.budget},
                detail::DecoupleRagValue(options, true), detail::DecoupleUct(options.w, options.divide_again),
                options.prune, MeanBackup(), detail::EnoughCorrect(options.stop_correct)) {}

  /// Grows the tree of one question. This object must outlive the task.
  template <class = void>
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    detail::DualTree tree = co_await engine_(environment_, std::move(root), seed);
    co_return detail::to_rag_tree(std::move(tree));
  }

 private:
  detail::DecoupleRagEnvironment environment_;
  Mcts<detail::DecoupleRagValue, detail::DecoupleUct, AnyPruning, MeanBackup, detail::EnoughCorrect> engine_;
};

}  // namespace espalier::method
