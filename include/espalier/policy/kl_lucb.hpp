#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/curtailment.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace espalier {

/// KL-LUCB (Kaufmann and Kalyanakrishnan 2013): stops when the leader's lower bound is above the upper bounds of all
/// others, up to an error rate of about delta. After one rollout each, a round is one of the leader and one of the
/// challenger, which is the other one with the greatest upper bound. With a threshold, the leader's interval must also
/// lie above it, or all must lie below.
///
/// m d(p, q) <= ln((1 + ln t) / delta) bounds the mean q of a candidate with the mean p of m rewards, where t is the
/// number of all rewards and d(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)). The rate is that of the experiments of
/// Garivier and Kaufmann 2016. An interval is never wider than what the rollouts that are left can change, as in
/// Curtailment, so delta -> 0 is exact.
class KlLucb {
 public:
  /// `delta`: the error rate, (0, 1).
  explicit KlLucb(std::optional<double> threshold = {}, double delta = 0.1)
      : exact_(threshold), threshold_(threshold), delta_(delta) {
    if (!(delta > 0 && delta < 1)) bad_option("delta", delta, "above 0, below 1");
  }

  /// The least and the greatest q with d(p, q) <= rate, for p in [0, 1] and rate >= 0.
  [[nodiscard]] static std::pair<double, double> interval(double p, double rate) {
    return {1 - upper(1 - p, rate), upper(p, rate)};
  }

  [[nodiscard]] ContestRound operator()(const std::vector<Tally>& candidates) const {
    ContestRound round = exact_(candidates);
    if (round.over()) return round;
    std::fill(round.draws.begin(), round.draws.end(), 0u);
    for (std::size_t i = 0; i < candidates.size(); ++i)
      round.draws[i] = !round.out[i] && !candidates[i].known() && candidates[i].left > 0;
    if (!round.over()) return round;

    const auto bounds = intervals(candidates);
    const std::size_t leader = *detail::leader(candidates);
    std::optional<std::size_t> challenger;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (i != leader && !round.out[i] && (!challenger || bounds[i].second > bounds[*challenger].second))
        challenger = i;
    const auto [low, high] = bounds[leader];
    const double rival = challenger ? bounds[*challenger].second : 0;
    const bool best = !challenger || low > rival + rounding;
    const bool above = !threshold_ || detail::above(low, *threshold_);
    const bool below = threshold_ && !detail::above(std::max(high, rival), *threshold_);
    if ((best && above) || below) return round.won_by(leader);
    round.draws[leader] = candidates[leader].left > 0;
    if (!best) round.draws[*challenger] = candidates[*challenger].left > 0;
    return round;
  }

 private:
  static constexpr double rounding = 1e-9;

  static double divergence(double p, double q) {
    return (p > 0 ? p * std::log(p / q) : 0) + (p < 1 ? (1 - p) * std::log((1 - p) / (1 - q)) : 0);
  }
  /// By bisection, to 2^-50.
  static double upper(double p, double rate) {
    double in = p, out = 1;
    for (int step = 0; step < 50; ++step) {
      const double q = (in + out) / 2;
      (divergence(p, q) <= rate ? in : out) = q;
    }
    return in;
  }
  [[nodiscard]] std::vector<std::pair<double, double>> intervals(const std::vector<Tally>& candidates) const {
    double rewards = 0;
    for (const Tally& candidate : candidates) rewards += candidate.read;
    const double rate = std::log((1 + std::log(rewards)) / delta_);
    std::vector<std::pair<double, double>> all;
    for (const Tally& candidate : candidates) {
      all.emplace_back(0, 0);  // stays so for one without any reward: it is out
      if (!candidate.known()) continue;
      const auto [low, high] = interval(candidate.mean(), rate / candidate.read);
      all.back() = {std::max(low, candidate.low()), std::min(high, candidate.high())};
    }
    return all;
  }

  Curtailment exact_;
  std::optional<double> threshold_;
  double delta_;
};

}  // namespace espalier
