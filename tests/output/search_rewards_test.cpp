#include <espalier/output/search_rewards.hpp>

#include <doctest/doctest.h>

namespace search_rewards_test {

using namespace espalier::output;

TEST_CASE("IKEA rewards right answers the more the fewer searches they took") {
  CHECK(ikea_reward(false, true, 0) == -1);
  CHECK(ikea_reward(true, true, 0) == doctest::Approx(1.6));
  CHECK(ikea_reward(true, true, 1) == doctest::Approx(1.4));
  CHECK(ikea_reward(true, true, 2) == doctest::Approx(1.2));
  CHECK(ikea_reward(true, true, 3) == doctest::Approx(1));
  CHECK(ikea_reward(true, true, 9) == doctest::Approx(1));
  CHECK(ikea_reward(true, false, 2) == doctest::Approx(0.05));
  CHECK(ikea_reward(true, false, 0) == 0);
}

TEST_CASE("HiPRAG adds the share of good steps where answer and format are right") {
  CHECK(hiprag_reward(true, true, 3, 4) == doctest::Approx(0.8 + 0.2 + 0.4 * 0.75));
  CHECK(hiprag_reward(true, false, 4, 4) == doctest::Approx(0.8));
  CHECK(hiprag_reward(false, true, 4, 4) == doctest::Approx(0.2));
  CHECK(hiprag_reward(false, false, 0, 0) == 0);
  CHECK(hiprag_reward(true, true, 0, 0) == doctest::Approx(1));
  CHECK_THROWS_WITH_AS(hiprag_reward(true, true, 2, 1), "option 'good' is 2, allowed: at most the number of steps",
                       std::invalid_argument);
}

}  // namespace search_rewards_test
