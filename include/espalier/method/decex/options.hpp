#pragma once

#include <espalier/method/option_check.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/rag/refusals.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>
#include <string>

namespace espalier::method {

/// DecEx-RAG's options. Where the paper is silent or contradicts itself, docs/decex.md explains the default.
struct DecExRagOptions {
  enum class Search : std::uint8_t { pruned, no_pruning, full_node };
  enum class Termination : std::uint8_t { vote, mean_f1, vote_and_f1 };
  enum class Form : std::uint8_t { prompts, policy };  ///< policy: a search or an answer after a thought
  /// When the rollouts of candidates that compete stop before all n are drawn.
  enum class Curtail : std::uint8_t { none, exact, halving };  ///< exact: Curtailment, halving: Halving

  std::uint32_t k = 3, n = 4, T_max = 4;
  double threshold = 0.6;  ///< Fig. 1
  Search search = Search::pruned;
  Termination termination = Termination::vote;  ///< text: vote of the samples. Fig. 1: mean reward of the answers
  enum class VoteOver : std::uint8_t { readable, all };
  VoteOver vote_over = VoteOver::readable;  ///< text: "more than 50% of the sampling results"
  Form form = Form::prompts;
  bool always_expand_both = false, stop_pairs = false, compare_across = false;
  Curtail curtail = Curtail::none;
  std::uint32_t rollout_rounds = 8;
  std::string refusals{rag::detail::refusal_phrases};
  AnyPruning prune{};  ///< asked after the method's own
  Budget budget{};     ///< per question

  void describe(auto& table) {
    const Range from_one = Range::at_least(1);
    table.add("k", k, "samples per decision", from_one)
        .add("n", n, "rollouts per execution", from_one)
        .add("T_max", T_max, "rounds of a search and searches of the policy loop, then the answer is forced", from_one)
        .add("threshold", threshold, "a value strictly above it is enough", Range::between(0, 1))
        .add("search", search, "the modes of the paper's Table 2", {"pruned", "no_pruning", "full_node"})
        .add("termination", termination,
             "what ends a search: the vote of the samples, the mean reward of their answers, or both",
             {"vote", "mean_f1", "vote_and_f1"})
        .add("vote_over", vote_over, "the samples of which more than half must stop: the readable ones, or all k",
             {"readable", "all"})
        .shown_if_changed()
        .add("form", form,
             "what the search asks: its own prompts, or the policy's next steps, so that a trained policy is expanded",
             {"prompts", "policy"})
        .shown_if_changed()
        .add("always_expand_both", always_expand_both, "expand retrieval also where own knowledge passes")
        .add("stop_pairs", stop_pairs,
             "value sub-questions also where the search stops, so that pairs can prefer to stop")
        .add("compare_across", compare_across, "own knowledge below the threshold still competes with the queries")
        .add("curtail", curtail,
             "rollouts stop where the decision is certain, or by a rule that may err; pairs then need complete ones",
             {"none", "exact", "halving"})
        .shown_if_changed()
        .add("rollout_rounds", rollout_rounds, "rounds on a rollout's path, then it must answer", from_one)
        .add("refusals", refusals, "own answers with one of these phrases are closed: no knowledge",
             "phrases separated by ';', empty = none")
        .prune(prune);
  }
};

}  // namespace espalier::method
