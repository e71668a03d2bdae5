#pragma once

#include <espalier/core/error.hpp>
#include <espalier/search/mcts_options.hpp>

#include <cstdint>

namespace espalier::method {

/// ProRAG's options (arXiv 2601.21912).
struct ProRagOptions {
  enum class Grow : std::uint8_t {
    search,  ///< the search that process reward models learn from
    group    ///< independent trajectories of the policy, for its refinement and its advantages
  };
  enum class Discount : std::uint8_t {
    from_end,  ///< gamma^(T-t): every step to the trajectory's end counts, those of the rollout too (paper, Eq. 3)
    per_edge   ///< every edge above the node that was simulated counts (published code)
  };
  enum class Simulate : std::uint8_t { first, random };     ///< which of a node's new children is simulated
  enum class Distinct : std::uint8_t { step, action };      ///< samples differ by thought and action, or by the action alone
  Grow grow = Grow::search;
  std::uint32_t simulations = 200;
  std::uint32_t samples = 5;       ///< of a node's next step (K)
  double c = 2.5;                  ///< exploration weight of PUCT (Eq. 2)
  double gamma = 0.99;             ///< what each step leaves of a value (Eq. 3), (0, 1]
  Discount discount = Discount::from_end;
  std::uint32_t max_depth = 10;    ///< steps on a path of a search
  std::uint32_t answer_depth = 10; ///< steps on a path without a search, inferred or of a group
  bool force_answer = true;        ///< the last step of an inference must answer; in searches it need not
  MctsOptions::Expand expand = MctsOptions::Expand::all;
  Prior prior{PriorSource::counts, 1};
  Simulate simulate = Simulate::first;
  Distinct distinct = Distinct::action;
  std::uint32_t rollouts = 1;      ///< simulated ends a node
  std::uint32_t window = 1;        ///< simulations under way in one tree
  bool solve = true;               ///< what has nothing new below is not selected again, so that simulations find new steps
  std::uint32_t group = 8;         ///< trajectories a question (G)
  Budget budget{};                 ///< a question
};

/// Throws std::invalid_argument that names the option.
inline const ProRagOptions& checked(const ProRagOptions& o) {
  if (o.simulations == 0) bad_option("simulations", o.simulations, "1 or more");
  if (o.samples == 0 || o.samples > 255) bad_option("samples", o.samples, "1 to 255");
  if (!(o.c >= 0)) bad_option("c", o.c, "0 or more");
  if (!(o.gamma > 0 && o.gamma <= 1)) bad_option("gamma", o.gamma, "above 0, up to 1");
  if (o.max_depth == 0) bad_option("max_depth", o.max_depth, "1 or more");
  if (o.answer_depth == 0) bad_option("answer_depth", o.answer_depth, "1 or more");
  if (o.rollouts == 0) bad_option("rollouts", o.rollouts, "1 or more");
  if (o.window == 0 || o.window > 65535) bad_option("window", o.window, "1 to 65535");
  if (o.group == 0) bad_option("group", o.group, "1 or more");
  o.prior.check();
  return o;
}

}  // namespace espalier::method
