#include <espalier/method/prorag/group_rollouts.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace advantage_test {

using namespace espalier;
using namespace espalier::method;
using doctest::Approx;
using Normalise = AdvantageOptions::Normalise;

namespace {

/// Two trajectories: outcomes 1 and 0; steps 1 and 0 of 10 and 30 tokens, and 2 of 20 tokens.
std::vector<TrajectoryReward> two() { return {{1, {{1, 10}, {0, 30}}}, {0, {{2, 20}}}}; }

}  // namespace

TEST_CASE("step and outcome rewards add a bonus for the schema (Eq. 5, 6)") {
  const AdvantageOptions options{.nu_step = 0.5, .nu_outcome = 0.25};
  CHECK(options.step_reward(0.4, true) == Approx(0.9));
  CHECK(options.step_reward(0.4, false) == Approx(0.4));
  CHECK(options.outcome_reward(2.0 / 3, true) == Approx(0.9166667));
  CHECK(options.outcome_reward(2.0 / 3, false) == Approx(0.6666667));
}

TEST_CASE("the published code squashes scores, doubles F1 from 0.2 on and punishes what breaks the schema") {
  const AdvantageOptions options{.rewards = AdvantageOptions::Rewards::code};
  CHECK(options.step_reward(0, true) == 1.5);
  CHECK(options.step_reward(1, false) == Approx(0.7310586 - 2));
  CHECK(std::isnan(options.step_reward(std::numeric_limits<double>::quiet_NaN(), true)));
  CHECK(options.outcome_reward(0.2, true) == Approx(1.4));
  CHECK(options.outcome_reward(0.19, true) == 1);
  CHECK(options.outcome_reward(1, false) == 1);
}

TEST_CASE("advantages are normalised over the group and added with weight 0.3 (Eq. 7, 8)") {
  // Outcomes: mean 0.5, sample deviation 0.7071068: +-0.5 / 0.7072068 = +-0.7070068.
  // Steps: mean 1, sample deviation 1: 0, -1 / 1.0001, 1 / 1.0001, each times 0.3.
  const auto a = advantages({}, two());
  REQUIRE(a.size() == 2);
  CHECK(a[0][0] == Approx(0.7070068));
  CHECK(a[0][1] == Approx(0.7070068 - 0.29997));
  CHECK(a[1][0] == Approx(-0.7070068 + 0.29997));
}

TEST_CASE("a step may count once a token, under the population deviation") {
  // Mean 50 / 60; variance (10 / 36 + 30 * 25 / 36 + 20 * 49 / 36) / 60 = 0.8055556, deviation 0.8975275.
  const auto a = advantages({.normalise = Normalise::token}, two());
  CHECK(a[0][0] == Approx(0.7070068 + 0.3 * 0.1666667 / 0.8976275));
  CHECK(a[0][1] == Approx(0.7070068 - 0.3 * 0.8333333 / 0.8976275));
  CHECK(a[1][0] == Approx(-0.7070068 + 0.3 * 1.1666667 / 0.8976275));
}

TEST_CASE("groups of one, equal rewards and steps without a score have no advantage, and no NaN") {
  CHECK(advantages({}, {}).empty());
  CHECK(advantages({}, {{0.7, {{0.2, 5}}}}) == std::vector<std::vector<double>>{{0}});
  for (const auto& own : advantages({}, std::vector<TrajectoryReward>(8, {1, {{0.1, 3}, {0.1, 4}}})))
    for (const double a : own) CHECK(a == Approx(0).epsilon(1e-6));
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto a = advantages({}, {{1, {{none, 10}, {3, 1}}}, {0, {{1, 1}}}});
  CHECK(a[0][0] == Approx(0.7070068));                                 // the outcome's alone
  CHECK(a[0][1] == Approx(0.7070068 + 0.3 * 1 / (1.4142136 + 1e-4)));  // 3 and 1: mean 2, deviation 1.4142136
}

TEST_CASE("options of advantages are checked by name") {
  CHECK_THROWS_WITH_AS(method::detail::checked(AdvantageOptions{.beta = -1}),
                       "option 'beta' is -1.000000, allowed: 0 or more", std::invalid_argument);
}

}  // namespace advantage_test
