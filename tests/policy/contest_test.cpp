#include <espalier/policy/contest.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace contest_test {

using namespace espalier;

namespace {

using Draws = std::vector<std::uint32_t>;
using Out = std::vector<bool>;
/// The rewards of a candidate's rollouts. None = it could not be read.
using Rewards = std::vector<std::optional<double>>;

struct Played {
  std::vector<Tally> tallies;
  Out out;
  std::uint32_t draws = 0, rounds = 0;
};

/// Plays a contest to its end. A candidate never draws more than it has.
Played play(detail::AnyContestRule rule, const std::vector<Rewards>& all) {
  Played played;
  for (const Rewards& rewards : all) played.tallies.push_back({0, 0, static_cast<std::uint32_t>(rewards.size())});
  for (;;) {
    const ContestRound round = rule(played.tallies);
    played.out = round.out;
    if (round.over()) return played;
    ++played.rounds;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Tally& tally = played.tallies[i];
      REQUIRE(round.draws[i] <= tally.left);
      for (std::uint32_t j = 0; j < round.draws[i]; ++j, --tally.left, ++played.draws) {
        const auto reward = all[i][tally.drawn()];
        if (reward) tally.sum += *reward, ++tally.read;
        else ++tally.unread;
      }
    }
  }
}

/// The best of those that are in.
std::optional<std::size_t> winner(const Played& played) {
  std::vector<Tally> in = played.tallies;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (played.out[i]) in[i] = Tally();
  return detail::leader(in);
}
Draws drawn(const Played& played) {
  Draws all;
  for (const Tally& tally : played.tallies) all.push_back(tally.drawn());
  return all;
}

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

/// What is decided by what curtailment draws, one rollout a round.
Decision curtailed(const std::vector<Rewards>& all, std::optional<double> threshold, std::uint32_t& draws) {
  const Played played = play(Curtailment(threshold), all);
  REQUIRE(played.rounds == played.draws);
  draws += played.draws;
  std::vector<Rewards> drawn;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(played.tallies[i].drawn());
    drawn.emplace_back(played.out[i] ? Rewards() : Rewards(all[i].begin(), all[i].begin() + count));
  }
  return decided(drawn, threshold);
}
Draws considered(std::uint32_t actions, std::uint32_t simulations) {
  Draws visits;
  for (std::uint32_t i = 0; i < simulations; ++i) visits.push_back(detail::considered_visits(actions, simulations, i));
  return visits;
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
  CHECK(curtailed({{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}}, {}, draws) == Decision{0});
  CHECK(draws == 4);
  // The first two fail twice, at most 2/4, and the third once: 3/4. So the first two draw no third one
  draws = 0;
  CHECK(curtailed({{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 1, 1, 1}}, {}, draws) == Decision{2});
  CHECK(draws == 8);
  // One alone needs a rollout that can be read
  draws = 0;
  CHECK(curtailed({{{}, 0, 1, 1}}, {}, draws) == Decision{0});
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
    const Decision expected = decided(all, threshold), found = curtailed(all, threshold, draws);
    REQUIRE(found.above == expected.above);
    // Below the threshold nobody goes on, so the best does not matter
    if (!threshold || expected.above) REQUIRE(found.best == expected.best);
  }
  CHECK(draws < all_draws * 3 / 4);
}

TEST_CASE("sequential halving gives these visits to those in the running") {
  CHECK(considered(8, 24) == Draws{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  // 4 actions, 2 phases: 16 / (2 * 4) = 2 rounds of four, then 16 / (2 * 2) = 4 rounds of two
  CHECK(considered(4, 16) == Draws{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(considered(2, 6) == Draws{0, 0, 1, 1, 2, 2});
  CHECK(considered(1, 4) == Draws{0, 1, 2, 3});  // nothing to halve
  CHECK(considered(8, 4) == Draws{0, 0, 0, 0});  // fewer simulations than actions
  // 3 actions, 2 phases: 12 / (2 * 3) = 2 rounds of three, then three rounds of two
  CHECK(considered(3, 12) == Draws{0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE("halving spends half of all rollouts, equally in each phase") {
  // 3 candidates, n = 4: 6 of 12 in two phases. 1 each, then the better two 1 more each. A sixth would be half a round
  const Rewards right{1, 1, 1, 1}, wrong{0, 0, 0, 0}, late{0, 1, 1, 1};
  const Played three = play(Halving(), {wrong, late, right});
  CHECK(drawn(three) == Draws{2, 1, 2});  // the third leads, and the first of the others is kept
  CHECK(three.out == Out{true, true, false});
  CHECK(three.rounds == 2);
  // 4 candidates: 8 of 16. 1 each, then 2 each for the better two
  CHECK(drawn(play(Halving(), {wrong, {1, 0, 0, 0}, wrong, {1, 0, 1, 1}})) == Draws{1, 3, 1, 3});
  // 2 candidates: 2 each. n = 8 and 3 candidates: 12 of 24: 2 each, then 3 each for the better two
  CHECK(drawn(play(Halving(), {late, {1, 1, 0, 0}})) == Draws{2, 2});
  CHECK(drawn(play(Halving(), {Rewards(8, 0.4), Rewards(8, 0.6), Rewards(8, 0.5)})) == Draws{2, 5, 5});
  // One against a threshold: half of its own
  CHECK(drawn(play(Halving(0.6), {{1, 0, 1, 1}})) == Draws{2});
}

TEST_CASE("the last of halving that can be read wins") {
  const Played played = play(Halving(), {{{}, {}, {}, {}}, {0, {}, 1, 1}, {{}, {}, {}, {}}});
  CHECK(winner(played) == 1);
  CHECK(drawn(play(Halving(), {{{}, {}, {}, 1}, {{}, {}, {}, {}}})) == Draws{4, 2});  // goes on until one can be read
}

TEST_CASE("every rule ends with one that can be read, and at most n rollouts each") {
  std::mt19937 random(11);
  std::uint32_t all_draws = 0, exact = 0, halving = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::size_t n = 1 + random() % 8;
    const double right = static_cast<double>(random() % 5) / 4;
    std::optional<double> threshold;
    if (random() % 2) threshold = static_cast<double>(random() % 11) / 10;
    std::vector<Rewards> all(1 + random() % 6);
    bool readable = false;
    for (Rewards& rewards : all)
      for (std::size_t i = 0; i < n; ++i) {
        const double unit = static_cast<double>(random() % 1000) / 1000;
        if (random() % 6 == 0) rewards.emplace_back();
        else if (random() % 2) rewards.emplace_back(unit < right ? 1 : 0);
        else rewards.emplace_back(static_cast<double>(static_cast<std::uint32_t>(random() % 6)) / 5);
        readable |= rewards.back().has_value();
      }
    all_draws += static_cast<std::uint32_t>(n * all.size());
    const auto draws = [&](const Played& played) {
      REQUIRE(winner(played).has_value() == readable);
      return played.draws;
    };
    exact += draws(play(Curtailment(threshold), all));
    halving += draws(play(Halving(threshold), all));
  }
  CHECK(exact < all_draws);
  CHECK(halving < exact);
}

}  // namespace contest_test
