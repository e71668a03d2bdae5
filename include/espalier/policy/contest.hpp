#pragma once

#include <espalier/version.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// Contests: siblings of one kind draw rollouts until a rule knows the best of them. The rules are Curtailment, which
/// is exact, and Halving, which may choose another one than all rollouts would.
namespace espalier {

/// What is known of the mean of a candidate's rewards in [0, 1] while some of its rollouts are not drawn. A rollout
/// that cannot be read has no reward and does not count.
struct Tally {
  double sum = 0;            ///< of the rewards so far
  std::uint32_t read = 0;    ///< the number of rewards so far
  std::uint32_t left = 0;    ///< rollouts that are not drawn
  std::uint32_t unread = 0;  ///< rollouts that could not be read

  [[nodiscard]] std::uint32_t drawn() const { return read + unread; }
  [[nodiscard]] bool known() const { return read > 0; }
  [[nodiscard]] bool alive() const { return read + left > 0; }
  /// The mean so far, for a candidate that is known.
  [[nodiscard]] double mean() const { return sum / read; }
  /// The least and the greatest mean that can come out, for a candidate that is alive.
  [[nodiscard]] double low() const { return sum / (read + left); }
  [[nodiscard]] double high() const { return (sum + left) / (read + left); }
};

/// What a rule says before a round of a contest.
struct ContestRound {
  explicit ContestRound(std::size_t candidates) : draws(candidates), out(candidates) {}
  std::vector<std::uint32_t> draws;  ///< rollouts that each candidate draws now, at most those it has left
  std::vector<bool> out;             ///< cannot be chosen any more

  /// The contest ends when nobody draws. The greatest mean of those that are not out wins, the first of equal ones.
  [[nodiscard]] bool over() const {
    return std::all_of(draws.begin(), draws.end(), [](std::uint32_t n) { return n == 0; });
  }
  /// Ends the contest. All others are out.
  ContestRound& won_by(std::size_t winner) {
    std::fill(draws.begin(), draws.end(), 0u);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i != winner;
    return *this;
  }
};

namespace detail {

/// The rule of one contest. It is asked before each round. The candidates stand in the order in which equal means rank.
/// It may remember the rounds before, so a contest has a rule of its own.
template <class Rule>
concept ContestRule = std::copy_constructible<Rule> && requires(Rule& rule, const std::vector<Tally>& candidates) {
  { rule(candidates) } -> std::same_as<ContestRound>;
};
/// Any rule.
using AnyContestRule = std::function<ContestRound(const std::vector<Tally>&)>;

/// A mean is above a threshold if it is so by 1e-6, as in ThresholdSkip.
inline bool above(double mean, double threshold) { return mean > threshold + 1e-6; }

/// The candidate with the greatest mean so far, the first of equal ones. None if no mean is known.
inline std::optional<std::size_t> leader(const std::vector<Tally>& candidates) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].known() && (!best || candidates[i].mean() > candidates[*best].mean())) best = i;
  return best;
}

}  // namespace detail

}  // namespace espalier
