#pragma once

#include <espalier/core/error.hpp>
#include <espalier/search/budget.hpp>

#include <cstdint>

namespace espalier::method {

/// ReasonRAG's options (arXiv 2505.14069).
struct ReasonRagOptions {
  enum class Value : std::uint8_t {
    judge,    ///< a model that sees gold scores every state from 0 to 100, answers too (published code)
    rollouts  ///< mean reward of simulated ends, higher for shorter paths (paper: shortest-path reward estimation)
  };
  std::uint32_t simulations = 64;
  std::uint32_t children = 2;     ///< samples per node
  double c = 1.4142135623730951;  ///< exploration weight of UCT
  std::uint32_t max_rounds = 7;   ///< retrievals on one path of a search, then the answer is forced
  bool last_word = false;  ///< after the last retrieval of a search, a reasoning is free. Only below a query is forced
  std::uint32_t answer_rounds = 7;  ///< as `max_rounds`, for `answer`
  std::uint32_t window = 1;         ///< simulations under way in one tree
  Value value = Value::judge;
  std::uint32_t n = 1;  ///< rollouts per state, for Value::rollouts
  double decay = 0.95;  ///< an end has the reward r * decay^steps, (0, 1]
  Budget budget{};      ///< per question
};

namespace detail {

/// Throws std::invalid_argument that names the option.
inline const ReasonRagOptions& checked(const ReasonRagOptions& o) {
  if (o.max_rounds == 0) bad_option("max_rounds", o.max_rounds, "1 or more");
  if (o.answer_rounds == 0) bad_option("answer_rounds", o.answer_rounds, "1 or more");
  if (!(o.decay > 0 && o.decay <= 1)) bad_option("decay", o.decay, "above 0, up to 1");
  return o;
}

}  // namespace detail

}  // namespace espalier::method
