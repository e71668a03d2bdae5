#include <espalier/policy/contest.hpp>
#include <espalier/policy/curtailment.hpp>
#include <espalier/policy/halving.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace contest_test {

using namespace espalier;

static_assert(detail::ContestRule<Curtailment> && detail::ContestRule<Halving>);
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
