#pragma once

#include <espalier/method/option_table.hpp>
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
  std::uint32_t samples = 5;
  double c = 2.5;
  Visits visits = Visits::parent;
  double gamma = 0.99;  ///< Eq. 3
  Discount discount = Discount::from_end;
  std::uint32_t max_depth = 10, answer_depth = 10;
  bool force_answer = true;
  MctsOptions::Expand expand = MctsOptions::Expand::all;
  Prior prior{PriorSource::counts, 1};
  Simulate simulate = Simulate::first;
  Distinct distinct = Distinct::action;
  std::uint32_t rollouts = 1, window = 1;
  bool solve = true;  ///< simulations find new steps
  std::uint32_t group = 8;
  Budget budget{};  ///< per question

  void describe(OptionTable& table) {
    const Range from_one = Range::at_least(1);
    table
        .add("grow", grow, "trees of the search, groups of independent trajectories, or nothing but the question",
             {"search", "group", "none"})
        .add("simulations", simulations, "simulations per tree", from_one)
        .add("samples", samples, "samples of a node's next step (K)", Range::between(1, 255))
        .add("c", c, "exploration weight of PUCT", Range::at_least(0))
        .add("puct_visits", visits,
             "what stands under the square root of PUCT: a parent's visits, or the sum of its children's (Eq. 2)",
             {"parent", "children"})
        .add("gamma", gamma, "discount per step", Range::above(0).up_to(1))
        .add("discount", discount, "by the steps to the trajectory's end, or by the edges above the simulated node",
             {"from_end", "per_edge"})
        .add("max_depth", max_depth, "steps on a path of a search", from_one)
        .add("answer_depth", answer_depth, "steps on a path of `answer` or of a group", from_one)
        .add("force_answer", force_answer, "the last step of `answer` must answer")
        .add("expand", expand, "all children of a node at once, or one per simulation", {"all", "one"})
        .add("prior", prior.source, "where the priors of siblings come from",
             {"given", "uniform", "counts", "mean_logprob", "sum_logprob"})
        .add("tau", prior.tau, "temperature of a prior from log-probabilities", Range::above(0))
        .add("simulate", simulate, "which new child is simulated", {"first", "random"})
        .add("distinct", distinct, "samples differ by thought and action, or by action", {"step", "action"})
        .add("rollouts", rollouts, "simulated ends per node", from_one)
        .add("window", window, "simulations under way in one tree", Range::between(1, 65535))
        .add("solve", solve, "do not select solved nodes again")
        .add("group", group, "trajectories per question (G)", from_one);
  }
};

}  // namespace espalier::method
