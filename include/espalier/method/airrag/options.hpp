#pragma once

#include <espalier/core/error.hpp>
#include <espalier/search/budget.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace espalier::method {

/// AirRAG's options (arXiv 2501.10053). Where the paper is silent, docs/airrag.md explains the default.
struct AirRagOptions {
  /// The value of a simulated end when gold is not used.
  enum class TerminalReward : std::uint8_t {
    jaccard,           ///< agreement with the answers so far, by words (Eq. 2)
    self_consistency,  ///< share of the answers so far that are equal
    embedding,         ///< like jaccard, by the cosine of embeddings (Eq. 3)
    reward_model,      ///< the score of a process reward model
    zero,              ///< always 0: only exploration decides
    gold               ///< the chosen reward against gold, for data synthesis
  };
  /// How the answer is chosen among the candidates.
  enum class Select : std::uint8_t { jaccard, embedding, refine, reward_model };

  /// How a simulation goes from a new node to an answer.
  enum class Simulation : std::uint8_t {
    straight,  ///< the first legal action at each step. Its steps become nodes after the search
    descent    ///< legal actions in random order. Its steps become nodes at once, so later simulations can start there
  };

  std::uint32_t rollouts = 1;     ///< number of simulations
  bool until_spent = false;       ///< more simulations, until the budget is spent or nothing new can come
  double w = 1.4142135623730951;  ///< exploration weight of UCT
  std::uint32_t n_say = 1, n_da = 1, n_ra = 1, n_qt = 1, n_sa = 1;  ///< samples per action
  std::uint32_t max_pairs = 4;   ///< rounds of retrieval and transformation on one path
  std::uint32_t max_depth = 10;  ///< actions on one path, the last is the summary
  bool da_terminal = false;      ///< a direct answer is final. If false, it feeds the summary
  bool lite = false;             ///< only retrieval, transformation and summary
  bool blend = false;            ///< candidates of other methods join, and one summary refines them all
  std::uint32_t window = 1;
  Simulation simulation = Simulation::straight;
  TerminalReward terminal_reward = TerminalReward::jaccard;
  Select select = Select::jaccard;
  bool scale_documents = true;  ///< with L_max, as many passages per retrieval as fit into it, `documents` at least
  Budget budget{};              ///< per question. input_tokens is the paper's L_max

  /// The largest number of samples of an action.
  [[nodiscard]] std::uint32_t width() const { return std::max({n_say, n_da, n_ra, n_qt, n_sa}); }
};

namespace detail {

/// Throws std::invalid_argument that names the option.
inline const AirRagOptions& checked(const AirRagOptions& o) {
  for (const auto& [name, n] :
       {std::pair("n_say", o.n_say), {"n_da", o.n_da}, {"n_ra", o.n_ra}, {"n_qt", o.n_qt}, {"n_sa", o.n_sa}})
    if (n == 0 || n > 255) bad_option(name, n, "1 to 255");
  if (o.max_pairs == 0) bad_option("max_pairs", o.max_pairs, "1 or more");
  if (o.max_depth < 2) bad_option("max_depth", o.max_depth, "2 or more");
  return o;
}

}  // namespace detail

}  // namespace espalier::method
