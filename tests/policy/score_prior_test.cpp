#include <espalier/policy/score_prior.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace score_prior_test {

using namespace espalier;

TEST_CASE("scored siblings share by their log-probability a token, or a whole action") {
  const std::vector<Score> siblings{Score(-2, 2, 9), Score(-3 + std::log(2.0), 3, 9), Score(-1, 1, 9)};
  // alpha 0: e^-2 : 2 e^-3 : e^-1 = e : 2 : e^2
  const double e = std::exp(1.0), sum = e + 2 + e * e;
  const std::vector<float> whole = ScorePrior{.alpha = 0}(siblings);
  CHECK(whole[0] == doctest::Approx(e / sum));
  CHECK(whole[1] == doctest::Approx(2 / sum));
  CHECK(whole[2] == doctest::Approx(e * e / sum));
  // alpha 1, tau 1/3: -1, -1 + ln(2)/3, -1 over 1/3: shares 1 : 2 : 1
  const std::vector<float> each = ScorePrior{.alpha = 1, .tau = 1.0 / 3}(siblings);
  CHECK(each[0] == doctest::Approx(0.25));
  CHECK(each[1] == doctest::Approx(0.5));
  CHECK(ScorePrior()({}).empty());
  CHECK(ScorePrior()(std::vector<Score>{Score(-1e5, 1, 2)}) == std::vector<float>{1});
}

TEST_CASE("bad options are named") {
  CHECK_THROWS_WITH_AS(ScorePrior({.alpha = 2}).check(), doctest::Contains("'alpha'"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(ScorePrior({.tau = 0}).check(), doctest::Contains("'tau'"), std::invalid_argument);
}

}  // namespace score_prior_test
