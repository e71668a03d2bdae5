#pragma once

#include <espalier/method/pro_rag.hpp>
#include <espalier/method/process_reward.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/search/beam.hpp>
#include <espalier/search/policy_loop.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace espalier::method {

/// ProRAG's inference: the policy's own path, or steps that a process reward chooses.
struct ProGuideOptions {
  enum class Guide : std::uint8_t {
    none,       ///< one path of the policy (paper)
    best_of_n,  ///< n whole paths; the one whose steps are worth most in the mean
    beam        ///< `beam` states a depth, each with its samples, ranked by the newest step
  };
  Guide guide = Guide::none;
  std::uint32_t n = 8;     ///< paths of best_of_n
  std::uint32_t beam = 2;  ///< states kept a depth

  void check() const {
    if (n == 0) bad_option("best_of", n, "1 or more");
    if (beam == 0) bad_option("beam", beam, "1 or more");
  }
};

/// Marks as "selected" the finished path whose steps have the highest mean "process_reward", the oldest of equals; steps
/// without one do not count, paths without any come last.
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

/// Answers without gold.
class ProGuide {
 public:
  ProGuide(const ProGuideOptions& guide, const ProRagOptions& options, const rag::Environment& loop)
      : guide_(guide.guide), path_(loop, {"rollout", options.answer_depth, options.force_answer}),
        steps_(loop, {"step", options.answer_depth, options.force_answer, options.distinct}), reward_(loop.sampler()), policy_(options.budget),
        paths_({guide.n, options.budget}, NoValue()),
        beam_({guide.beam, options.samples, options.answer_depth, options.budget}, ProcessReward(loop.sampler())) {}

  /// Grows the tree of one question. This object must outlive the task.
  Task<rag::Tree> operator()(rag::State root, std::uint64_t run_seed) { return answer(this, std::move(root), run_seed); }

 private:
  static Task<rag::Tree> answer(ProGuide* self, rag::State root, std::uint64_t run_seed) {
    const Seed seed(run_seed, root.question().id);
    if (self->guide_ == ProGuideOptions::Guide::none) co_return co_await self->policy_(self->path_, std::move(root), seed);
    rag::Tree tree;
    if (self->guide_ == ProGuideOptions::Guide::best_of_n) {
      tree = co_await self->paths_(self->steps_, std::move(root), seed);
      co_await self->reward_.annotate(&tree);
    } else {
      tree = co_await self->beam_(self->steps_, std::move(root), seed);
      note_own_values(tree);
    }
    select_by_process_reward(tree);
    co_return tree;
  }
  /// Notes what each step was worth by itself: the sum of a node without those of its children.
  static void note_own_values(rag::Tree& tree) {
    for (NodeId id = 1; id < tree.size(); ++id) {
      if (!tree[id].evaluated || tree[id].reason == Reason::malformed) continue;
      double own = tree[id].total;
      for (const NodeId child : tree.children(id)) own -= tree[child].total;
      tree.annotate("process_reward", id, own);
    }
  }

  ProGuideOptions::Guide guide_;
  ProRagEnvironment path_, steps_;
  ProcessReward reward_;
  PolicyLoop policy_;
  Trajectories<NoValue> paths_;
  Beam<ProcessReward> beam_;
};

}  // namespace espalier::method
