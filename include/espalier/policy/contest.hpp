#pragma once

#include <espalier/version.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// Contests: siblings of one kind draw rollouts until a rule knows the best of them. The rules are Curtailment, which
/// is exact, and Halving, which may choose another one than all rollouts would.
namespace espalier {

/// What is known of the mean of a candidate's rewards in [0, 1] while some of its rollouts are not drawn or not read.
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

/// Sequential halving (Karnin et al. 2013, as in Danihelka et al. 2022). Returns the number of visits that an action
/// must have to be a candidate for the simulation of this index. All `actions` are candidates at first. Each phase
/// gives its candidates equal numbers of simulations and keeps half of them, at least two.
inline std::uint32_t considered_visits(std::uint32_t actions, std::uint32_t simulations, std::uint32_t index) {
  if (actions <= 1) return index;
  const auto phases = static_cast<std::uint32_t>(std::bit_width(actions - 1));  // ceil(log2(actions))
  std::uint32_t visits = 0;
  for (std::uint32_t left = actions;; left = std::max(2u, left / 2)) {
    const std::uint32_t each = std::max(1u, simulations / (phases * left));
    if (left == 2 || index < each * left) return visits + index / left;
    visits += each;
    index -= each * left;
  }
}

}  // namespace detail

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
    const auto before = [&](std::size_t a, std::size_t b) {
      const Tally &x = candidates[a], &y = candidates[b];
      return x.known() && (!y.known() || x.mean() > y.mean());
    };
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].drawn() == level && candidates[i].left > 0)
        order.insert(std::upper_bound(order.begin(), order.end(), i, before), i);
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
