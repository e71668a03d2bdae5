#include <espalier/method/detail/agreement.hpp>

#include <doctest/doctest.h>

namespace agreement_test {

using namespace espalier;
using namespace espalier::method::detail;

TEST_CASE("agreement by words, worked out by hand (AirRAG, Eq. 2)") {
  CHECK(jaccard("The Eiffel Tower", "eiffel tower!") == 1);  // articles and punctuation count for nothing
  CHECK(jaccard("Eiffel Tower Paris", "Paris") == doctest::Approx(1.0 / 3));
  CHECK(jaccard("a", "The") == 1);  // both empty
  CHECK(jaccard("", "Paris") == 0);
  const std::vector<std::string> answers{"Rome", "Paris France", "Paris"};
  const auto scores = agreement_scores<std::string>(answers, jaccard);
  CHECK(scores[0] == doctest::Approx(1.0 / 3));
  CHECK(scores[1] == doctest::Approx((1 + 0.5) / 3));
  CHECK(scores[2] == doctest::Approx((1 + 0.5) / 3));
  CHECK(first_best(scores) == 1);  // the first of equals
  CHECK(first_best(std::vector<double>{0.1, 0.3, 0.2}) == 1);
}

TEST_CASE("agreement by embeddings, worked out by hand (AirRAG, Eq. 3)") {
  CHECK(cosine({1, 0}, {1, 1}) == doctest::Approx(0.70710678));
  CHECK(cosine({0, 0}, {1, 1}) == 0);
  CHECK(cosine({2, 0}, {-3, 0}) == doctest::Approx(-1));
  CHECK_THROWS_WITH_AS(cosine({1}, {1, 2}), "embeddings of 1 and 2 numbers", Error);
  const std::vector<Embedding> embeddings{{1, 0}, {0, 1}, {1, 1}};
  const auto scores = agreement_scores<Embedding>(embeddings, cosine);
  CHECK(scores[0] == doctest::Approx((1 + 0 + 0.70710678) / 3));
  CHECK(scores[2] == doctest::Approx((0.70710678 * 2 + 1) / 3));
  CHECK(first_best(scores) == 2);
}

}  // namespace agreement_test
