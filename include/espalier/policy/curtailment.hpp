#pragma once

#include <espalier/policy/contest.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace espalier {

/// Exact curtailment: rollouts stop as soon as no outcome of the others can change what is decided. The decision is the
/// best of some candidates by their mean of n rewards in [0, 1], and, with a threshold, whether the best mean is above
/// it. Candidate i is out when its greatest mean is below the least mean of another one, S_i + (n - m_i) < S_j for
/// equal n. Equal bounds are ordered as equal means are, by the order of the candidates.
///
/// A round is one rollout, of the candidate with the greatest possible mean. So a candidate that loses draws no rollout
/// that could be spared: the best mean is at most the greatest possible one, so until then the loser could still win.
///
/// Sums of zeros and ones are compared exactly. Other sums count as equal up to 1e-9, and then nothing is out.
class Curtailment {
 public:
  explicit Curtailment(std::optional<double> threshold = {}) : threshold_(threshold) {}

  [[nodiscard]] ContestRound operator()(const std::vector<Tally>& candidates) const {
    ContestRound round(candidates.size());
    std::size_t in = 0;
    bool known = true, above = !threshold_, below = threshold_.has_value();
    std::optional<std::size_t> drawing;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Tally& candidate = candidates[i];
      round.out[i] = beaten(candidates, i);
      if (round.out[i]) continue;
      ++in;
      known &= candidate.known();
      if (threshold_) {
        above |= candidate.known() && detail::above(candidate.low(), *threshold_);
        below &= candidate.known() && !detail::above(candidate.high(), *threshold_);
      }
      if (candidate.left > 0 && (!drawing || candidate.high() > candidates[*drawing].high() + rounding)) drawing = i;
    }
    const bool decided = below || (in == 1 && known && above);
    if (drawing && !decided) round.draws[*drawing] = 1;
    return round;
  }

 private:
  static constexpr double rounding = 1e-9;

  static bool beaten(const std::vector<Tally>& candidates, std::size_t i) {
    bool beaten = !candidates[i].alive();
    for (std::size_t j = 0; j < candidates.size() && !beaten; ++j)
      beaten = j != i && beats(candidates[j], candidates[i], j < i);
    return beaten;
  }
  static bool whole(double sum) { return sum == std::floor(sum); }
  /// True if a's mean will rank before b's, whatever is drawn yet. `first`: a ranks before b if they are equal.
  static bool beats(const Tally& a, const Tally& b, bool first) {
    if (!a.known()) return false;
    if (!whole(a.sum) || !whole(b.sum)) return a.low() > b.high() + rounding;
    const double left = a.sum * (b.read + b.left), right = (b.sum + b.left) * (a.read + a.left);
    return left > right || (left == right && first);
  }

  std::optional<double> threshold_;
};

}  // namespace espalier
