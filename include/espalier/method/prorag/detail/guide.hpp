#pragma once

#include <espalier/method/detail/evidence.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/prorag/process_reward.hpp>
#include <espalier/method/prorag/search.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/search/beam.hpp>
#include <espalier/search/layered.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace espalier::method::detail {

/// ProRAG's inference: the policy's own path, or steps chosen by a process reward.
struct ProGuideOptions {
  enum class Guide : std::uint8_t {
    none,       ///< one path of the policy (paper)
    best_of_n,  ///< n whole paths, of which the one with the highest mean step reward is chosen
    beam        ///< `beam` states per depth, ranked by their newest step
  };
  Guide guide = Guide::none;
  std::uint32_t n = 8, beam = 2;

  void describe(auto& table) {
    table
        .add("guide", guide, "who chooses the steps of `answer`: the policy, or process rewards",
             {"none", "best_of_n", "beam"})
        .add("best_of", n, "paths of best_of_n", Range::at_least(1))
        .add("beam", beam, "states kept at each depth", Range::at_least(1));
  }
};

/// Annotates the complete path with the highest mean "process_reward" with "selected", the oldest of equals. Steps
/// without a score do not count. Paths without any score rank last.
inline void select_by_process_reward(rag::Tree& tree) {
  NodeId best = no_node;
  double highest = 0;
  for (const NodeId end : output::complete_chains(tree)) {
    double sum = 0, steps = 0;
    for (const NodeId id : tree.path(end))
      if (const double reward = tree.annotation("process_reward", id); !std::isnan(reward)) sum += reward, ++steps;
    const double mean = steps > 0 ? sum / steps : -std::numeric_limits<double>::infinity();
    if (best != no_node && !(mean > highest)) continue;
    best = end;
    highest = mean;
  }
  if (best != no_node) tree.annotate("selected", best, 1);
}

/// Answers without gold. A budget that ends the search before there is an answer leaves one call for a forced one.
/// Where whole paths are scored after the search, it leaves a call for the score of each step.
class ProRagGuide {
 public:
  ProRagGuide(const ProGuideOptions& guide, const ProRagOptions& options, const rag::Environment& loop)
      : guide_(guide.guide),
        path_(loop, {"rollout", options.answer_depth, options.force_answer}),
        steps_(loop, {"step", options.answer_depth, options.force_answer, options.distinct}),
        reward_(loop.sampler()),
        policy_(options.budget.keeping(1)),
        paths_({guide.n, options.budget.keeping(1), 1}, espalier::detail::NoValue()),
        beam_({guide.beam, options.samples, options.answer_depth, options.budget.keeping(1), 1},
              ProcessReward(loop.sampler()), options.prune) {}

  /// Grows the tree of one question. This object must outlive the task.
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    rag::Tree tree;
    if (guide_ == ProGuideOptions::Guide::none) {
      tree = co_await policy_(path_, std::move(root), seed);
    } else if (guide_ == ProGuideOptions::Guide::best_of_n) {
      tree = co_await paths_(steps_, std::move(root), seed);
      co_await reward_.annotate(&tree);
      Budget::end(tree);
    } else {
      tree = co_await beam_(steps_, std::move(root), seed);
      note_own_values(tree);
    }
    const auto worth = [&tree](NodeId id) {
      const double reward = tree.annotation("process_reward", id);
      return std::isnan(reward) ? -std::numeric_limits<double>::infinity() : reward;
    };
    if (tree.ending == SearchFacts::Ending::budget && output::complete_chains(tree).empty())
      co_await force_answer(&path_.loop(), &tree, worth);
    if (guide_ != ProGuideOptions::Guide::none) select_by_process_reward(tree);
    co_return tree;
  }

 private:
  /// Annotates each step with its own value: the total of a node minus the totals of its children.
  static void note_own_values(rag::Tree& tree) {
    for (NodeId id = 1; id < tree.size(); ++id) {
      if (tree[id].visits == 0) continue;  // without a value
      double own = tree[id].total;
      for (const NodeId child : tree.children(id)) own -= tree[child].total;
      tree.annotate("process_reward", id, own);
    }
  }

  ProGuideOptions::Guide guide_;
  ProRagEnvironment path_, steps_;
  ProcessReward reward_;
  PolicyLoop policy_;
  Trajectories<espalier::detail::NoValue> paths_;
  Beam<ProcessReward, AnyPruning> beam_;
};

}  // namespace espalier::method::detail
