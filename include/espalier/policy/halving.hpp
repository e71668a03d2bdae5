#pragma once

#include <espalier/policy/curtailment.hpp>
#include <espalier/policy/sequential_halving.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace espalier {

/// Sequential halving over candidates (Karnin et al. 2013) with half of all rollouts, K n / 2, and at least one each.
/// Phases of equal cost give equal numbers of rollouts to those who are left and keep the better half of them, at least
/// two. The best of the last ones wins. The contest ends earlier where Curtailment is certain.
///
/// With K = 3 and n = 4 each candidate draws 1 rollout and the better two of them 1 more, 5 of 12 in all.
class Halving {
 public:
  explicit Halving(std::optional<double> threshold = {}) : exact_(threshold) {}

  [[nodiscard]] ContestRound operator()(const std::vector<Tally>& candidates) const {
    ContestRound round = exact_(candidates);
    if (round.over()) return round;
    const auto all = static_cast<std::uint32_t>(candidates.size());
    std::uint32_t made = 0, n = 0;
    for (const Tally& candidate : candidates) made += candidate.drawn(), n += candidate.drawn() + candidate.left;
    const std::uint32_t budget = std::max(all, (n + 1) / 2), level = detail::considered_visits(all, budget, made);
    std::uint32_t places = 0;
    while (detail::considered_visits(all, budget, made + places) == level) ++places;
    std::vector<std::size_t> order = ranked(candidates, level);
    if (made + places <= budget && places <= order.size()) {
      std::fill(round.draws.begin(), round.draws.end(), 0u);
      for (std::uint32_t i = 0; i < places; ++i) round.draws[order[i]] = 1;
      return round;
    }
    const auto winner = finalist(candidates);
    return winner ? round.won_by(*winner) : round;  // without any reward, Curtailment draws until there is one
  }

 private:
  /// Those that drew `level` rollouts and have some left, from the greatest mean so far to the least, then the unknown.
  static std::vector<std::size_t> ranked(const std::vector<Tally>& candidates, std::uint32_t level) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].drawn() == level && candidates[i].left > 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Tally &x = candidates[a], &y = candidates[b];
      return x.known() && (!y.known() || x.mean() > y.mean());
    });
    return order;
  }
  /// The best of those that drew most, among those that are known.
  static std::optional<std::size_t> finalist(const std::vector<Tally>& candidates) {
    std::uint32_t most = 0;
    for (const Tally& candidate : candidates)
      if (candidate.known()) most = std::max(most, candidate.drawn());
    std::vector<Tally> last = candidates;
    for (Tally& candidate : last)
      if (candidate.drawn() < most) candidate = Tally();
    return detail::leader(last);
  }

  Curtailment exact_;
};

}  // namespace espalier
