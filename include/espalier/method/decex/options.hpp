#pragma once

#include <espalier/core/error.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/refusals.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>
#include <string>

namespace espalier::method {

/// DecEx-RAG's options. Where the paper is silent or contradicts itself, docs/decex.md explains the default, and every
/// other reading is an option.
struct DecExRagOptions {
  enum class Search : std::uint8_t { pruned, no_pruning, full_node };
  enum class Termination : std::uint8_t { vote, mean_f1, vote_and_f1 };
  enum class Form : std::uint8_t {
    prompts,  ///< a prompt for each decision and execution
    policy    ///< the policy's own steps: a search or an answer after a thought, as in rollouts
  };
  /// When the rollouts of candidates that compete stop before all n are drawn.
  enum class Curtail : std::uint8_t {
    none,
    exact,   ///< as soon as the decision is certain (Curtailment)
    halving  ///< after half of all rollouts, most of them for the better ones (Halving)
  };

  std::uint32_t k = 3;                          ///< samples per decision
  std::uint32_t n = 4;                          ///< rollouts per execution
  std::uint32_t T_max = 4;                      ///< rounds, then the answer is forced
  double threshold = 0.6;                       ///< a value strictly above it is enough (Fig. 1), [0, 1]
  Search search = Search::pruned;               ///< the modes of Table 2
  Termination termination = Termination::vote;  ///< text: vote of the samples. Fig. 1: mean reward of the answers
  Form form = Form::prompts;                    ///< what the search asks for its candidates
  bool always_expand_both = false;   ///< expand retrieval even if own knowledge passes (for preference pairs)
  bool stop_pairs = false;           ///< value sub-questions also where the search stops: pairs can prefer to stop
  bool stop_at_root = false;         ///< the first round may stop too (Fig. 1)
  bool compare_across = false;       ///< own knowledge below the threshold still competes with the queries
  Curtail curtail = Curtail::none;   ///< the rule that stops rollouts
  std::uint32_t rollout_rounds = 8;  ///< rounds on a rollout's path from the root, then its answer is forced
  std::string refusals{rag::detail::refusal_phrases};  ///< own answers with such a phrase are closed, "" = none
  Budget budget{};                                     ///< per question
};

namespace detail {

/// Throws std::invalid_argument that names the option.
inline const DecExRagOptions& checked(const DecExRagOptions& o) {
  if (o.k == 0) bad_option("k", o.k, "1 or more");
  if (o.n == 0) bad_option("n", o.n, "1 or more");
  if (o.T_max == 0) bad_option("T_max", o.T_max, "1 or more");
  if (!(o.threshold >= 0 && o.threshold <= 1)) bad_option("threshold", o.threshold, "0 to 1");
  if (o.curtail != DecExRagOptions::Curtail::none && o.compare_across)
    bad_option("compare_across", "true", "false with curtail");
  if (o.rollout_rounds == 0) bad_option("rollout_rounds", o.rollout_rounds, "1 or more");
  return o;
}

}  // namespace detail

}  // namespace espalier::method
