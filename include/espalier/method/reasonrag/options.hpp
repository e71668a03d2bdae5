#pragma once

#include <espalier/method/option_table.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>

namespace espalier::method {

/// ReasonRAG's options (arXiv 2505.14069).
struct ReasonRagOptions {
  enum class Value : std::uint8_t {
    judge,    ///< a model that sees gold scores every state from 0 to 100, answers too (published code)
    rollouts  ///< mean reward of simulated ends, higher for shorter paths (paper: shortest-path reward estimation)
  };
  std::uint32_t simulations = 64, children = 2;
  double c = 1.4142135623730951;
  std::uint32_t max_rounds = 7;
  bool last_word = false;
  std::uint32_t answer_rounds = 7;
  std::uint32_t window = 1;
  Value value = Value::judge;
  std::uint32_t n = 1;  ///< for Value::rollouts
  double decay = 0.95;  ///< an end has the reward r * decay^steps
  Budget budget{};      ///< per question

  void describe(OptionTable& table) {
    const Range from_one = Range::at_least(1);
    table.add("simulations", simulations, "simulations per tree", from_one)
        .add("children", children, "samples per node", Range::between(1, 255))
        .add("c", c, "exploration weight of UCT", Range::at_least(0))
        .add("max_rounds", max_rounds, "retrievals on one path, then the answer is forced", from_one)
        .add("last_word", last_word,
             "after the last retrieval of a search a reasoning is free, and only below its query the answer is forced")
        .shown_if_changed()
        .add("answer_rounds", answer_rounds, "retrievals of `answer`, then the answer is forced", from_one)
        .add("window", window, "simulations under way in one tree", Range::between(1, 65535))
        .add("value", value, "what a state is worth: a judge's score given the gold answer, or rollouts",
             {"judge", "rollouts"})
        .add("n", n, "rollouts per state", from_one)
        .add("decay", decay, "what each step leaves of a terminal reward during the search", Range::above(0).up_to(1));
  }
};

}  // namespace espalier::method
