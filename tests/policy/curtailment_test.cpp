#include <espalier/policy/curtailment.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace curtailment_test {

using namespace espalier;
namespace {

using Out = std::vector<bool>;

/// The rewards of a candidate's rollouts. None = it could not be read.
using Rewards = std::vector<std::optional<double>>;
constexpr double tolerance = 1e-6;

struct Decision {
  std::optional<std::size_t> best{};
  bool above = false;
  bool operator==(const Decision&) const = default;
};

/// The decision by all rewards. They are hundredths, so their sums are whole numbers here.
Decision decided(const std::vector<Rewards>& all, std::optional<double> threshold) {
  Decision decision;
  std::int64_t best_sum = 0, best_read = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int64_t sum = 0, read = 0;
    for (const auto& reward : all[i])
      if (reward) sum += static_cast<std::int64_t>(*reward * 100 + 0.5), ++read;
    if (read == 0 || (decision.best && sum * best_read <= best_sum * read)) continue;
    decision.best = i;
    best_sum = sum;
    best_read = read;
  }
  if (decision.best && threshold)
    decision.above = static_cast<double>(best_sum) / static_cast<double>(100 * best_read) > *threshold + tolerance;
  return decision;
}

/// The one candidate that draws one rollout in this round.
std::optional<std::size_t> drawing(const ContestRound& round) {
  if (round.over()) return {};
  CHECK(std::accumulate(round.draws.begin(), round.draws.end(), 0u) == 1);
  return std::find(round.draws.begin(), round.draws.end(), 1u) - round.draws.begin();
}

/// Draws until everything is decided. Returns what is decided by what was drawn.
Decision curtailed(const std::vector<Rewards>& all, std::uint32_t n, std::optional<double> threshold,
                   std::uint32_t& draws) {
  const Curtailment curtailment(threshold);
  std::vector<Tally> tallies(all.size(), Tally{0, 0, n});
  ContestRound round = curtailment(tallies);
  for (; const auto i = drawing(round); round = curtailment(tallies)) {
    Tally& tally = tallies[*i];
    if (const auto reward = all[*i][n - tally.left--]) tally.sum += *reward, ++tally.read;
    ++draws;
  }
  std::vector<Rewards> drawn;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(n - tallies[i].left);
    drawn.emplace_back(round.out[i] ? Rewards() : Rewards(all[i].begin(), all[i].begin() + count));
  }
  return decided(drawn, threshold);
}

}  // namespace

TEST_CASE("a candidate is out when its best mean is below another's worst") {
  const Curtailment four;
  // 3 of 3 right is at least 3/4, 0 of 2 at most 2/4; 1 of 3 at most 2/4
  const ContestRound one = four({{3, 3, 1}, {0, 2, 2}, {1, 3, 1}});
  CHECK(one.over());
  CHECK(one.out == Out{false, true, true});
  // 1 of 2 can still reach 3/4, which ranks after the first of equals, and before it when it stands first
  CHECK(four({{3, 3, 1}, {1, 2, 2}}).over());
  CHECK(four({{3, 3, 1}, {1, 2, 2}}).out == Out{false, true});
  CHECK_FALSE(four({{1, 2, 2}, {3, 3, 1}}).over());
  CHECK(four({{1, 2, 2}, {3, 3, 1}}).out == Out{false, false});
}

TEST_CASE("a threshold ends the contest when no outcome crosses it") {
  const Curtailment knowledge(0.6);
  CHECK(knowledge({{0, 2, 2}}).over());         // at most 2/4
  CHECK(drawing(knowledge({{1, 2, 2}})) == 0);  // 1/4 to 3/4
  CHECK(knowledge({{3, 3, 1}}).over());         // at least 3/4
  CHECK(knowledge({{0, 2, 2}}).out == Out{false});
  // Both are above 0.6, and 3/4 can still become 4/4: which is the best is open
  CHECK(drawing(knowledge({{3, 4, 0}, {3, 3, 1}})) == 1);
  // Exactly at the threshold is not above it: 3/5
  CHECK(Curtailment(0.6)({{1, 3, 2}}).over());
}

TEST_CASE("rollouts that cannot be read count neither for nor against") {
  const Curtailment four;
  const ContestRound dead = four({{0, 0, 0}, {0, 0, 1}});  // the first is dead, the second may still die
  CHECK(dead.out == Out{true, false});
  CHECK(drawing(dead) == 1);
  const ContestRound one = four({{2, 2, 0}, {0, 1, 1}});  // 1 against at most 1/2
  CHECK(one.over());
  CHECK(one.out == Out{false, true});
}

TEST_CASE("the candidate that can still be best draws next") {
  const Curtailment four;
  CHECK(drawing(four({{0, 0, 4}, {0, 0, 4}})) == 0);             // the first of equal ones
  CHECK(drawing(four({{0, 1, 3}, {0, 0, 4}})) == 1);             // at most 3/4 against at most 4/4
  CHECK(drawing(four({{1, 2, 2}, {0, 1, 3}, {0, 2, 2}})) == 0);  // 3/4, 3/4, 2/4
  CHECK(four({{4, 4, 0}, {0, 0, 4}}).over());
}

TEST_CASE("where the first candidate is always right, the others draw nothing") {
  std::uint32_t draws = 0;
  CHECK(curtailed({{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}}, 4, {}, draws) == Decision{0});
  CHECK(draws == 4);
  // The first two fail twice, at most 2/4, and the third once: 3/4. So the first two draw no third one
  draws = 0;
  CHECK(curtailed({{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 1, 1, 1}}, 4, {}, draws) == Decision{2});
  CHECK(draws == 8);
  // One alone needs a rollout that can be read
  draws = 0;
  CHECK(curtailed({{{}, 0, 1, 1}}, 4, {}, draws) == Decision{0});
  CHECK(draws == 2);
}

TEST_CASE("the decision is that of all rollouts, for any rewards") {
  std::mt19937 random(7);
  std::uint32_t draws = 0, all_draws = 0;
  for (int round = 0; round < 60000; ++round) {
    const std::uint32_t n = 1 + static_cast<std::uint32_t>(random() % 6);
    const bool whole = random() % 2;
    const double right = static_cast<double>(random() % 5) / 4;
    std::optional<double> threshold;
    if (random() % 2) threshold = static_cast<double>(random() % 11) / 10;
    std::vector<Rewards> all(1 + random() % 4);
    for (Rewards& rewards : all)
      for (std::uint32_t i = 0; i < n; ++i) {
        const double unit = static_cast<double>(random() % 1000) / 1000;
        if (random() % 8 == 0) rewards.emplace_back();
        else if (whole) rewards.emplace_back(unit < right ? 1 : 0);
        else rewards.emplace_back(static_cast<double>(static_cast<std::uint32_t>(random() % 6)) / 5);
      }
    all_draws += n * static_cast<std::uint32_t>(all.size());
    const Decision expected = decided(all, threshold), found = curtailed(all, n, threshold, draws);
    REQUIRE(found.above == expected.above);
    // Below the threshold nobody goes on, so the best does not matter
    if (!threshold || expected.above) REQUIRE(found.best == expected.best);
  }
  CHECK(draws < all_draws * 3 / 4);
}

}  // namespace curtailment_test
