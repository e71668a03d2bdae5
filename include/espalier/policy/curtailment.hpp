#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace espalier {

/// What is known of the mean of a candidate's rewards in [0, 1] while some of its rollouts are not drawn. A rollout
/// that cannot be read has no reward and does not count.
struct Tally {
  double sum = 0;          ///< of the rewards so far
  std::uint32_t read = 0;  ///< the number of rewards so far
  std::uint32_t left = 0;  ///< rollouts that are not drawn

  [[nodiscard]] bool known() const { return read > 0; }
  [[nodiscard]] bool alive() const { return read + left > 0; }
  /// The least and the greatest mean that can come out, for a candidate that is alive.
  [[nodiscard]] double low() const { return sum / (read + left); }
  [[nodiscard]] double high() const { return (sum + left) / (read + left); }
};

/// Exact curtailment: rollouts stop as soon as no outcome of the others can change what is decided. The decision is the
/// best of some candidates by their mean of n rewards in [0, 1], and, with a threshold, whether the best mean is above
/// it. Candidate i is out when its greatest mean is below the least mean of another one, S_i + (n - m_i) < S_j for
/// equal n. Equal bounds are ordered as equal means are, by the order of the candidates.
///
/// Sums of zeros and ones are compared exactly. Other sums count as equal up to 1e-9, and then nothing is out.
class Curtailment {
 public:
  /// `threshold`: as in ThresholdSkip, a mean strictly above it by 1e-6.
  explicit Curtailment(std::optional<double> threshold = {}) : threshold_(threshold) {}

  enum class Next : std::uint8_t {
    draw,     ///< its rollouts go on
    settled,  ///< it is decided without the others
    out       ///< it cannot be the best
  };
  /// What becomes of each candidate. They stand in the order in which equal means rank.
  [[nodiscard]] std::vector<Next> operator()(const std::vector<Tally>& candidates) const {
    std::vector<Next> next(candidates.size(), Next::draw);
    std::size_t in = 0;
    bool above = false, below = true;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      bool beaten = !candidates[i].alive();
      for (std::size_t j = 0; j < candidates.size() && !beaten; ++j)
        beaten = j != i && beats(candidates[j], candidates[i], j < i);
      if (beaten) next[i] = Next::out;
      else ++in;
      if (beaten || !threshold_) continue;
      above |= candidates[i].known() && candidates[i].low() > *threshold_ + tolerance;
      below &= candidates[i].known() && candidates[i].high() <= *threshold_ + tolerance;
    }
    const bool compared = !threshold_ || above;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const bool decided = (in == 1 && compared && candidates[i].known()) || (threshold_ && below);
      if (next[i] == Next::draw && (decided || candidates[i].left == 0)) next[i] = Next::settled;
    }
    return next;
  }
  /// The candidate that draws the next rollout: of those whose rollouts go on the one with the greatest possible mean,
  /// the first of equal ones. None if everything is decided. A candidate that loses draws no rollout that could be
  /// spared: the best mean is at most the greatest possible one, so until then the loser could still win.
  [[nodiscard]] static std::optional<std::size_t> drawing(const std::vector<Tally>& candidates,
                                                          const std::vector<Next>& next) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (next[i] == Next::draw && (!best || beats_at_best(candidates[i], candidates[*best]))) best = i;
    return best;
  }

 private:
  static constexpr double tolerance = 1e-6, rounding = 1e-9;

  static bool beats_at_best(const Tally& a, const Tally& b) { return a.high() > b.high() + rounding; }
  static bool whole(double sum) { return sum == std::floor(sum); }
  /// True if a's mean will rank before b's. `first`: it does where they are equal.
  static bool beats(const Tally& a, const Tally& b, bool first) {
    if (!a.known()) return false;
    if (!whole(a.sum) || !whole(b.sum)) return a.low() > b.high() + rounding;
    const double left = a.sum * (b.read + b.left), right = (b.sum + b.left) * (a.read + a.left);
    return left > right || (left == right && first);
  }

  std::optional<double> threshold_;
};

}  // namespace espalier
