#include <espalier/policy/consistency_stop.hpp>
#include <espalier/policy/contest.hpp>
#include <espalier/policy/curtailment.hpp>
#include <espalier/policy/halving.hpp>
#include <espalier/policy/kl_lucb.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace contest_test {

using namespace espalier;

static_assert(detail::ContestRule<Curtailment> && detail::ContestRule<Halving> &&
              detail::ContestRule<ConsistencyStop> && detail::ContestRule<KlLucb>);
static_assert(detail::ContestRule<detail::AnyContestRule>);

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
template <detail::ContestRule Rule>
Played play(Rule rule, const std::vector<Rewards>& all) {
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

}  // namespace

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

TEST_CASE("consistency stops when the last rounds agree on the best") {
  // Leaders: second, second
  CHECK(drawn(play(ConsistencyStop(), {{0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 1}})) == Draws{2, 2, 2});
  // Leaders: first, second, second. The third candidate has 0 of 2, at most 2/4, and is out
  CHECK(drawn(play(ConsistencyStop(), {{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 1}})) == Draws{3, 3, 2});
  // Leaders: the first (1 : 0), the first of equal ones (1 : 1)
  const Played equal = play(ConsistencyStop(), {{1, 0, 0, 0}, {0, 1, 1, 1}});
  CHECK(drawn(equal) == Draws{2, 2});
  CHECK(equal.out == Out{false, true});
  // One round more: the second leads with 2/3
  CHECK(winner(play(ConsistencyStop({}, 3), {{1, 0, 0, 0}, {0, 1, 1, 1}})) == 1);
  // Leaders: second, first (1/2 : 1/2), first
  CHECK(drawn(play(ConsistencyStop(), {{0, 1, 1, 0}, {1, 0, 0, 1}})) == Draws{3, 3});
  CHECK_THROWS_AS(ConsistencyStop({}, 0), std::invalid_argument);
}

TEST_CASE("consistency on a threshold: above it twice, or below it twice") {
  CHECK(drawn(play(ConsistencyStop(0.6), {{1, 1, 0, 0}})) == Draws{2});
  CHECK(drawn(play(ConsistencyStop(0.6), {{1, 0, 0, 1}})) == Draws{3});  // 1, 1/2, 1/3: at most 2/4
  // 0, 1/2: nobody twice, although the leader changed
  CHECK(drawn(play(ConsistencyStop(0.6), {{0, 0, 1, 1, 1, 1}, {0, 1, 1, 1, 1, 1}})) == Draws{2, 2});
}

TEST_CASE("the bounds of KL-LUCB") {
  // d(3/4, 1/4) = 3/4 ln 3 - 1/4 ln 3 = ln(3) / 2. So 3 of 4 reach down to 1/4 where 4 d = 2 ln 3 = ln(1 / delta): 1/9
  CHECK(KlLucb::interval(0.75, std::log(9) / 4).first == doctest::Approx(0.25));
  CHECK(KlLucb::interval(0.25, std::log(9) / 4).second == doctest::Approx(0.75));
  // m of m: q^m = delta. 0 of m: (1 - q)^m = delta
  CHECK(KlLucb::interval(1, std::log(16) / 4).first == doctest::Approx(0.5));
  CHECK(KlLucb::interval(0, std::log(16) / 4).second == doctest::Approx(0.5));
  CHECK(KlLucb::interval(1, 1).second == 1);
  CHECK(KlLucb::interval(0, 1).first == 0);
  const auto [low, high] = KlLucb::interval(0.3, 0);
  CHECK(low == doctest::Approx(0.3));
  CHECK(high == doctest::Approx(0.3));
}

TEST_CASE("KL-LUCB draws the leader and its challenger, and stops when they are apart") {
  const KlLucb rule({}, 0.25);
  CHECK(rule({{0, 0, 16}, {0, 0, 16}, {0, 0, 16}}).draws == Draws{1, 1, 1});
  // The third has been drawn least of the losers, so its bound is the greatest
  CHECK(rule({{3, 4, 12}, {1, 4, 12}, {1, 3, 13}}).draws == Draws{1, 0, 1});
  // t = 4 + 4: rate ln(4 (1 + ln 8)) = 2.511. 4 of 4 is at least exp(-2.511 / 4) = 0.534, 0 of 4 at most 0.466
  const ContestRound apart = rule({{4, 4, 12}, {0, 4, 12}});
  CHECK(apart.over());
  CHECK(apart.out == Out{false, true});
  // t = 3 + 3: rate ln(4 (1 + ln 6)) = 2.413, and exp(-2.413 / 3) = 0.447 is below 0.553
  CHECK(rule({{3, 3, 13}, {0, 3, 13}}).draws == Draws{1, 1});
  // 0 of 4 alone is at most 1 - exp(-ln(4 (1 + ln 4)) / 4) = 0.431
  CHECK(KlLucb(0.6, 0.25)({{0, 4, 12}}).over());
  CHECK(KlLucb(0.4, 0.25)({{0, 4, 12}}).draws == Draws{1});
  CHECK_THROWS_AS(KlLucb({}, 0), std::invalid_argument);
  CHECK_THROWS_AS(KlLucb({}, 1), std::invalid_argument);
}

TEST_CASE("every rule ends with one that can be read, and at most n rollouts each") {
  std::mt19937 random(11);
  std::uint32_t all_draws = 0, exact = 0, halving = 0, consistency = 0, lucb = 0;
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
    consistency += draws(play(ConsistencyStop(threshold), all));
    lucb += draws(play(KlLucb(threshold, 0.2), all));
    // Without errors it chooses what all rollouts choose
    const Played sure = play(KlLucb(threshold, 1e-300), all), certain = play(Curtailment(threshold), all);
    const auto mean = [&](std::size_t i) {
      double sum = 0, read = 0;
      for (const auto& reward : all[i])
        if (reward) sum += *reward, ++read;
      return sum / read;
    };
    if (readable && !threshold) REQUIRE(mean(*winner(sure)) == doctest::Approx(mean(*winner(certain))));
  }
  CHECK(exact < all_draws);
  CHECK(lucb < all_draws);
  CHECK(halving < exact);
  CHECK(consistency < exact);
}

}  // namespace contest_test
