#pragma once

#include <espalier/method/option_check.hpp>
#include <espalier/policy/any_pruning.hpp>
#include <espalier/search/budget.hpp>

#include <algorithm>
#include <cstdint>

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
  enum class Choice : std::uint8_t { jaccard, embedding, refine, reward_model };

  /// How a simulation goes from a new node to an answer. In a descent, later simulations can start at its steps.
  enum class Simulation : std::uint8_t { straight, descent };

  std::uint32_t rollouts = 1;
  bool until_spent = false;  ///< more simulations, until the budget is spent or nothing new can come
  double w = 1.4142135623730951;
  std::uint32_t n_say = 1, n_da = 1, n_ra = 1, n_qt = 1, n_sa = 1;
  bool q_div = false;  ///< for the sampler of a run: the search takes the one of its loop
  std::uint32_t max_pairs = 4, max_depth = 10;
  bool da_terminal = false;
  bool lite = false;   ///< only retrieval, transformation and summary
  bool blend = false;  ///< candidates of other methods join, and one summary refines them all
  std::uint32_t window = 1;
  Simulation simulation = Simulation::straight;
  TerminalReward terminal_reward = TerminalReward::jaccard;
  Choice choice = Choice::jaccard;
  AnyPruning prune{};  ///< asked at values
  Budget budget{};     ///< per question. input_tokens is the paper's L_max

  void describe(auto& table) {
    const Range byte = Range::between(1, 255);
    table.add("rollouts", rollouts, "simulations of a tree", Range::at_least(1))
        .add("w", w, "exploration weight of UCT", Range::at_least(0))
        .add("n_say", n_say, "samples of the system analysis", byte)
        .add("n_da", n_da, "samples of the direct answer", byte)
        .add("n_ra", n_ra, "samples of an answer from documents", byte)
        .add("n_qt", n_qt, "samples of a query transformation", byte)
        .add("n_sa", n_sa, "samples of the summary", byte)
        .add("q_div", q_div, "analysis and transformation are sampled with temperature 1 and top_p 1")
        .add("max_pairs", max_pairs, "most retrievals on a path, and most transformations", Range::at_least(1))
        .add("max_depth", max_depth, "actions on a path, the last is the summary", Range::at_least(2))
        .add("da_terminal", da_terminal, "a direct answer is final, else it feeds the summary")
        .add("window", window, "simulations under way in one tree", Range::between(1, 65535))
        .add("simulation", simulation,
             "straight: by the first legal action, nodes are added after the search. descent: in random order, nodes "
             "are added at once",
             {"straight", "descent"})
        .add("terminal_reward", terminal_reward, "what an answer is worth in `answer`, where no gold is seen",
             {"jaccard", "self_consistency", "embedding", "reward_model", "zero"})
        .add("choice", choice, "which candidate is the answer", {"jaccard", "embedding", "refine", "reward_model"})
        .prune(prune, "Mcts");
  }

  /// The largest number of samples of an action.
  [[nodiscard]] std::uint32_t width() const { return std::max({n_say, n_da, n_ra, n_qt, n_sa}); }
};

}  // namespace espalier::method
