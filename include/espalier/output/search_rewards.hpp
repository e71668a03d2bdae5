#pragma once

#include <espalier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// Rewards of whole trajectories that compare searches with the model's own knowledge.
namespace espalier::output {

/// IKEA's reward (Huang et al. 2025). A malformed trajectory gets -1. A right answer gets 1 plus 0.6, 0.4 or 0.2 for 0,
/// 1 or 2 searches. A wrong answer gets 0.05 with a search and 0 without.
inline double ikea_reward(bool well_formed, bool right, std::size_t searches) {
  constexpr std::array<double, 4> bonus{0.6, 0.4, 0.2, 0};
  if (!well_formed) return -1;
  if (right) return 1 + bonus[std::min<std::size_t>(searches, 3)];
  return searches > 0 ? 0.05 : 0;
}

/// HiPRAG's reward (Wu et al. 2025): (1 - f) A + f F + p A F good / steps. A and F are 1 if the answer is right (cover
/// match) and if the format is kept. `good` is the number of steps that searched exactly when it was needed. Throws
/// std::invalid_argument if good > steps.
inline double hiprag_reward(bool right, bool well_formed, std::size_t good, std::size_t steps, double f = 0.2,
                            double p = 0.4) {
  if (good > steps) bad_option("good", good, "at most the number of steps");
  const double a = right, form = well_formed;
  const double share = steps > 0 ? static_cast<double>(good) / static_cast<double>(steps) : 0;
  return (1 - f) * a + f * form + p * a * form * share;
}

}  // namespace espalier::output
