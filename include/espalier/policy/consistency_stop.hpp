#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/curtailment.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace espalier {

/// Stops when the last m rounds agree on the decision (as early-stopping self-consistency does on answers, Li et al.
/// 2024). A round is one rollout of each candidate that can still be the best. The decision is the one with the
/// greatest mean so far, or nobody, if that mean is not above the threshold. The contest ends earlier where Curtailment
/// is certain.
class ConsistencyStop {
 public:
  /// `rounds`: the m rounds that must agree, > 0.
  explicit ConsistencyStop(std::optional<double> threshold = {}, std::uint32_t rounds = 2)
      : exact_(threshold), threshold_(threshold), rounds_(rounds) {
    if (rounds == 0) bad_option("rounds", rounds, "1 or more");
  }

  [[nodiscard]] ContestRound operator()(const std::vector<Tally>& candidates) {
    ContestRound round = exact_(candidates);
    if (round.over()) return round;
    if (const auto leader = detail::leader(candidates)) {
      const bool above = !threshold_ || detail::above(candidates[*leader].mean(), *threshold_);
      const std::size_t decision = above ? *leader : candidates.size();
      agreeing_ = decision == decision_ ? agreeing_ + 1 : 1;
      decision_ = decision;
      if (agreeing_ == rounds_) return round.won_by(*leader);
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) round.draws[i] = !round.out[i] && candidates[i].left > 0;
    return round;
  }

 private:
  Curtailment exact_;
  std::optional<double> threshold_;
  std::uint32_t rounds_, agreeing_ = 0;
  std::optional<std::size_t> decision_;  ///< of the last round
};

}  // namespace espalier
