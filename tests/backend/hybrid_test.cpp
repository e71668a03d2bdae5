#include <espalier/backend/hybrid.hpp>
#include <espalier/backend/rerank.hpp>
#include <espalier/core/batch_service.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace hybrid_test {

using namespace espalier;
using namespace espalier::backend;

namespace {

Passages ranked(const std::string& ids) {
  Passages passages;
  for (const char id : ids) passages.emplace_back(std::string(1, id), "", "text " + std::string(1, id), 1.0);
  return passages;
}
std::string ids_of(const Passages& passages) {
  std::string ids;
  for (const Passage& passage : passages) ids += passage.id();
  return ids;
}
template <class In, class Out>
std::unique_ptr<Service<In, Out>> service(std::function<std::vector<Outcome<Out>>(std::span<const In>)> f) {
  return std::make_unique<BatchService<In, Out, decltype(f)>>(std::move(f));
}
/// Always finds the same; a query "bad" fails.
Hybrid::Part finds(const std::string& ids, std::vector<std::uint32_t>* depths = nullptr) {
  return service<Query, Passages>([=](std::span<const Query> queries) {
    std::vector<Outcome<Passages>> found;
    for (const Query& query : queries) {
      if (depths) depths->push_back(query.k);
      Passages passages = ranked(ids);
      if (passages.size() > query.k) passages.erase(passages.begin() + query.k, passages.end());
      if (query.text == "bad")
        found.emplace_back(std::make_exception_ptr(BackendError("no such query", BackendError::Kind::permanent)));
      else found.emplace_back(std::move(passages));
    }
    return found;
  });
}
/// Scores a text by its last letter.
Reranked::Reranker by_letter(bool short_reply = false) {
  return service<RerankRequest, RerankRequest::Scores>([=](std::span<const RerankRequest> requests) {
    std::vector<Outcome<RerankRequest::Scores>> all;
    for (const RerankRequest& request : requests) {
      RerankRequest::Scores scores;
      for (const std::string& text : request.texts) scores.push_back(text.back() == 'x' ? 0 : text.back());
      if (short_reply) scores.pop_back();
      all.emplace_back(std::move(scores));
    }
    return all;
  });
}

}  // namespace

TEST_CASE("reciprocal ranks are summed") {
  // a: 1/61 + 1/62, b: 1/62, c: 1/63 + 1/61, d: 1/63.
  const std::vector<Passages> lists{ranked("abc"), ranked("cad")};
  const Passages fused = backend::fuse(lists, 10, 60);
  CHECK(ids_of(fused) == "acbd");
  CHECK(fused[0].score() == doctest::Approx(0.0325224749));
  CHECK(fused[1].score() == doctest::Approx(0.0322664585));
  CHECK(fused[2].score() == doctest::Approx(0.0161290323));
  CHECK(fused[3].score() == doctest::Approx(0.0158730159));
  CHECK(ids_of(backend::fuse(lists, 2, 60)) == "ac");
  // Equal scores stand in the order of the ids, whichever list holds them.
  CHECK(ids_of(backend::fuse(std::vector<Passages>{ranked("zb"), ranked("ya")}, 10, 60)) == "yzab");
  CHECK(backend::fuse({}, 10, 60).empty());
}

TEST_CASE("a hybrid retriever asks all of its parts deeper than wanted and fuses") {
  std::vector<std::uint32_t> depths;
  std::vector<Hybrid::Part> parts;
  parts.push_back(finds("abc", &depths));
  parts.push_back(finds("cad", &depths));
  Hybrid hybrid(std::move(parts), {.depth = 5});
  CHECK(hybrid.batch());
  const auto outcomes = test::ask(hybrid, {Query("q", 2), Query("bad", 2), Query("r", 7)});
  CHECK(ids_of(outcomes[0].value()) == "ac");
  CHECK(test::failure_of(outcomes[1]).message == "no such query");
  CHECK(ids_of(outcomes[2].value()) == "acbd");
  CHECK(depths == std::vector<std::uint32_t>{5, 5, 7, 5, 7});
  CHECK_THROWS_AS(Hybrid({}), std::invalid_argument);
  std::vector<Hybrid::Part> one;
  one.push_back(finds("a"));
  CHECK_THROWS_WITH_AS(Hybrid(std::move(one), {.depth = 0}), doctest::Contains("'depth'"), std::invalid_argument);
}

TEST_CASE("a cancelled query of a hybrid is answered by nobody") {
  std::vector<Hybrid::Part> parts;
  parts.push_back(finds("ab"));
  Hybrid hybrid(std::move(parts));
  hybrid.submit(1, Query("q", 1));
  hybrid.submit(2, Query("q", 1));
  hybrid.cancel(1);
  const auto replies = hybrid.poll(std::chrono::milliseconds(10));
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].ticket == 2);
}

TEST_CASE("a reranker orders what was retrieved; equal scores keep their order") {
  Reranked reranked(finds("bxcay"), by_letter(), 4);
  const auto outcomes = test::ask(reranked, {Query("q", 2), Query("bad", 1), Query("q", 5)});
  CHECK(ids_of(outcomes[0].value()) == "cb");
  CHECK(outcomes[0].value()[0].score() == 'c');
  CHECK(test::failure_of(outcomes[1]).message == "no such query");
  CHECK(ids_of(outcomes[2].value()) == "ycbax");
  Reranked equal(finds("xxb"), by_letter(), 3);
  CHECK(ids_of(test::ask(equal, {Query("q", 3)})[0].value()) == "bxx");
  Reranked nothing(finds(""), by_letter(), 3);
  CHECK(test::ask(nothing, {Query("q", 3)})[0].value().empty());
}

TEST_CASE("a reranker's score that is not finite is an error") {
  for (const double score : {std::nan(""), HUGE_VAL}) {
    Reranked reranked(finds("ab"), service<RerankRequest, RerankRequest::Scores>([=](const auto& requests) {
                        return std::vector<Outcome<RerankRequest::Scores>>(requests.size(),
                                                                           RerankRequest::Scores{1, score});
                      }),
                      4);
    CHECK(test::failure_of(test::ask(reranked, {Query("q", 2)})[0]).message ==
          "a reranker gave a score that is not finite");
  }
}

TEST_CASE("a reranker with too few scores is an error") {
  Reranked reranked(finds("ab"), by_letter(true), 4);
  CHECK(test::failure_of(test::ask(reranked, {Query("q", 2)})[0]).message == "a reranker gave 1 scores for 2 passages");
  CHECK_THROWS_AS(Reranked(finds("a"), by_letter(), 0), std::invalid_argument);
}

}  // namespace hybrid_test
