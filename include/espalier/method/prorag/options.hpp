#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/search/mcts_options.hpp>

#include <cstdint>

namespace espalier::method {

/// ProRAG's options (arXiv 2601.21912).
struct ProRagOptions {
  enum class Grow : std::uint8_t {
    search,  ///< the tree search whose data trains process reward models
    group,   ///< independent trajectories of the policy, for refinement and advantages
    none     ///< the question alone, for annotations of its gold chain
  };
  enum class Discount : std::uint8_t {
    from_end,  ///< gamma^(T-t) over all steps to the trajectory's end, rollout included (paper, Eq. 3)
    per_edge   ///< gamma for every edge above the simulated node (published code)
  };
  using Visits = Puct::Visits;
  enum class Simulate : std::uint8_t { first, random };  ///< which new child of a node is simulated
  enum class Distinct : std::uint8_t { step, action };   ///< samples differ by thought and action, or only by action
  Grow grow = Grow::search;
  std::uint32_t simulations = 200;
  std::uint32_t samples = 5;       ///< samples of a node's next step (K)
  double c = 2.5;                  ///< exploration weight of PUCT (Eq. 2)
  Visits visits = Visits::parent;  ///< what stands under the square root of PUCT (Eq. 2: children)
  double gamma = 0.99;             ///< discount per step (Eq. 3), (0, 1]
  Discount discount = Discount::from_end;
  std::uint32_t max_depth = 10;     ///< steps on one path of a search
  std::uint32_t answer_depth = 10;  ///< steps on one path without a search (inference or group)
  bool force_answer = true;         ///< the last step of an inference must answer, in searches it need not
  MctsOptions::Expand expand = MctsOptions::Expand::all;
  Prior prior{PriorSource::counts, 1};
  Simulate simulate = Simulate::first;
  Distinct distinct = Distinct::action;
  std::uint32_t rollouts = 1;  ///< simulated ends per node
  std::uint32_t window = 1;    ///< simulations under way in one tree
  bool solve = true;           ///< do not select solved nodes again, so that simulations find new steps
  std::uint32_t group = 8;     ///< trajectories per question (G)
  Budget budget{};             ///< per question
};

namespace detail {

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

}  // namespace detail

}  // namespace espalier::method
