#pragma once

#include <espalier/core/error.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>

namespace espalier::method {

/// AirRAG's options (arXiv 2501.10053). Where the paper is silent, the default is the reading that docs/airrag.md gives.
struct AirOptions {
  /// What a simulated end is worth where no gold is looked at.
  enum class TerminalReward : std::uint8_t {
    jaccard,           ///< its answer's agreement with the answers so far, by words (Eq. 2)
    self_consistency,  ///< the share of the answers so far that say the same
    embedding,         ///< as jaccard, by the cosine of embeddings (Eq. 3)
    reward_model,      ///< the score of a process reward model
    zero,              ///< nothing: exploration alone
    gold               ///< the chosen reward against gold: for data synthesis
  };
  /// Which of the candidates is the answer.
  enum class Select : std::uint8_t { jaccard, embedding, refine, reward_model };

  /// How a simulation goes from a new node to an answer.
  enum class Simulation : std::uint8_t {
    straight,  ///< the first legal action at each step; its steps become nodes after the search
    descent    ///< legal actions in an order drawn by lot; its steps become nodes at once, and later simulations go on from them
  };

  std::uint32_t rollouts = 1;       ///< simulations
  double w = 1.4142135623730951;    ///< exploration weight of UCT
  std::uint32_t n_say = 1, n_da = 1, n_ra = 1, n_qt = 1, n_sa = 1;  ///< samples an action
  std::uint32_t max_pairs = 4;      ///< rounds of retrieval and transformation on a path
  std::uint32_t max_depth = 10;     ///< actions on a path; the last is the summary
  bool da_terminal = false;         ///< a direct answer is final; else it feeds the summary
  bool lite = false;                ///< retrieval, transformation and summary alone
  bool blend = false;               ///< candidates of other methods join in, and one summary refines them
  std::uint32_t window = 1;
  Simulation simulation = Simulation::straight;
  TerminalReward terminal_reward = TerminalReward::jaccard;
  Select select = Select::jaccard;
  Budget budget{};                  ///< a question; its input_tokens are L_max
};

/// Throws std::invalid_argument that names the option.
inline const AirOptions& checked(const AirOptions& o) {
  for (const auto& [name, n] : {std::pair("n_say", o.n_say), {"n_da", o.n_da}, {"n_ra", o.n_ra}, {"n_qt", o.n_qt}, {"n_sa", o.n_sa}})
    if (n == 0 || n > 255) bad_option(name, n, "1 to 255");
  if (o.max_pairs == 0) bad_option("max_pairs", o.max_pairs, "1 or more");
  if (o.max_depth < 2) bad_option("max_depth", o.max_depth, "2 or more");
  return o;
}

}  // namespace espalier::method
