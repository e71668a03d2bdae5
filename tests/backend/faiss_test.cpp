#include <espalier/backend/dense.hpp>
#include <espalier/backend/faiss.hpp>
#include <espalier/core/concepts.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/llm/scheduler.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexIDMap.h>
#include <faiss/index_factory.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <numeric>

namespace faiss_test {

namespace {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;

static_assert(backend::VectorIndex<FaissIndex>);
static_assert(Retriever<Faiss>);
static_assert(!std::constructible_from<Faiss, std::vector<Passage>, backend::detail::AnyEncoder>);  // faiss builds it

/// Rows around a few centres, so that approximate indexes have something to find.
Vectors clustered(std::size_t rows, std::size_t dimension, std::uint64_t seed) {
  Random random{Seed(seed)};
  std::vector<float> values;
  for (std::size_t i = 0; i < rows; ++i) {
    Random centre{Seed(i % 8)};
    for (std::size_t j = 0; j < dimension; ++j)
      values.push_back(static_cast<float>(centre.uniform() * 2 - 1 + 0.3 * (random.uniform() - 0.5)));
  }
  return Vectors(std::move(values), dimension);
}
std::vector<VectorQuery> queries_of(const Vectors& vectors, std::size_t k) {
  std::vector<VectorQuery> queries;
  for (std::size_t i = 0; i < vectors.rows(); ++i) queries.emplace_back(vectors.row(i), k);
  return queries;
}
double recall(const std::vector<std::vector<Hit>>& found, const std::vector<std::vector<Hit>>& exact) {
  std::size_t hits = 0, all = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    for (const Hit& hit : exact[i]) {
      ++all;
      for (const Hit& other : found[i]) hits += other.row == hit.row;
    }
  return double(hits) / double(all);
}
/// Builds an index on one thread, so that it is the same every time, and writes it.
std::string save_built(const Vectors& rows, const char* factory, const std::string& file,
                       faiss::MetricType metric = faiss::METRIC_INNER_PRODUCT) {
  const backend::detail::FaissOnOneThread alone;
  const std::unique_ptr<faiss::Index> index(faiss::index_factory(static_cast<int>(rows.dimension()), factory, metric));
  index->train(static_cast<std::int64_t>(rows.rows()), rows.values().data());
  std::vector<std::int64_t> ids(rows.rows());
  std::iota(ids.begin(), ids.end(), 0);
  if (dynamic_cast<faiss::IndexIDMap*>(index.get()))
    index->add_with_ids(static_cast<std::int64_t>(rows.rows()), rows.values().data(), ids.data());
  else index->add(static_cast<std::int64_t>(rows.rows()), rows.values().data());
  faiss::write_index(index.get(), file.c_str());
  return file;
}
/// The same, read again.
FaissIndex built(const Vectors& rows, const char* factory, const backend::FaissOptions& options = {},
                 faiss::MetricType metric = faiss::METRIC_INNER_PRODUCT) {
  const test::TemporaryFolder folder;
  return FaissIndex::load(save_built(rows, factory, folder / "index", metric), options);
}

}  // namespace

TEST_CASE("a flat faiss index finds what the exact search finds") {
  const Vectors rows = clustered(500, 24, 1), queries = clustered(40, 24, 2);
  const auto exact = DenseIndex(rows).search(queries_of(queries, 10));
  const auto found = built(rows, "Flat").search(queries_of(queries, 10));
  REQUIRE(found.size() == 40);
  for (std::size_t i = 0; i < 40; ++i) {
    REQUIRE(found[i].size() == 10);
    for (std::size_t j = 0; j < 10; ++j) {
      CHECK(found[i][j].row == exact[i][j].row);
      CHECK(found[i][j].score == doctest::Approx(exact[i][j].score).epsilon(1e-5));
    }
  }
}

TEST_CASE("the nearest by l2 comes first, its score is the negative squared distance") {
  const Vectors rows({0, 0, 3, 4, 1, 0}, 2);
  const std::vector<float> query{0, 0};
  const auto found = built(rows, "Flat", {}, faiss::METRIC_L2).search(std::vector<VectorQuery>{VectorQuery(query, 3)});
  CHECK(found[0] == std::vector<Hit>{Hit(0, 0), Hit(2, -1), Hit(1, -25)});
}

TEST_CASE("the nearest by another distance comes first too") {
  const Vectors rows({0, 0, 3, 4, 1, 0}, 2);
  const std::vector<float> query{0, 0};
  const auto found = built(rows, "Flat", {}, faiss::METRIC_L1).search(std::vector<VectorQuery>{VectorQuery(query, 3)});
  CHECK(found[0] == std::vector<Hit>{Hit(0, 0), Hit(2, -1), Hit(1, -7)});
}

TEST_CASE("a score that is not finite is an error that names its row") {
  const Vectors rows({1, 2, std::numeric_limits<float>::infinity(), 0, 3, 4}, 2);
  const std::vector<float> query{1, 1};
  const FaissIndex index = built(rows, "Flat");
  CHECK_THROWS_WITH_AS((void)index.search(std::vector<VectorQuery>{VectorQuery(query, 2)}),
                       "the faiss index gives row 1 a score that is not finite", BackendError);
}

TEST_CASE("HNSW and IVF find most of the best, more with a broader search") {
  const Vectors rows = clustered(2000, 16, 3), queries = clustered(50, 16, 4);
  const auto searches = queries_of(queries, 10);
  const auto exact = DenseIndex(rows).search(searches);
  CHECK(recall(built(rows, "HNSW32", {.ef_search = 128}).search(searches), exact) > 0.9);
  const double few = recall(built(rows, "IVF32,Flat", {.nprobe = 1}).search(searches), exact);
  const double all = recall(built(rows, "IVF32,Flat", {.nprobe = 32}).search(searches), exact);
  CHECK(all == 1);
  CHECK(few < all);
  for (const char* wrapped : {"L2norm,IVF32,Flat", "IDMap,IVF32,Flat"}) {
    CAPTURE(wrapped);
    CHECK(built(rows, wrapped, {.nprobe = 1}).search(searches) !=
          built(rows, wrapped, {.nprobe = 32}).search(searches));
  }
  CHECK(built(rows, "IDMap,HNSW32", {.ef_search = 1}).search(searches) !=
        built(rows, "IDMap,HNSW32", {.ef_search = 128}).search(searches));
}

TEST_CASE_FIXTURE(test::InFolder, "results are the same bits for any batch size, number of threads and build") {
  const Vectors rows = clustered(1000, 32, 5), queries = clustered(60, 32, 6);
  const auto searches = queries_of(queries, 7);
  for (const char* factory :
       {"Flat", "HNSW16", "HNSW16_SQ8", "IVF16,Flat", "IVF16,SQ8", "IVF16,PQ8x4", "SQ8", "PQ8x4", "L2norm,Flat"}) {
    CAPTURE(factory);
    const std::string file = save_built(rows, factory, folder / "index");
    const FaissIndex index = FaissIndex::load(file);
    const auto together = index.search(searches);
    for (const std::size_t threads : {1UL, 2UL, 5UL, 100UL})
      CHECK(FaissIndex::load(file, {.threads = threads}).search(searches) == together);
    for (std::size_t i = 0; i < searches.size(); ++i)
      CHECK(index.search(std::span(searches).subspan(i, 1)).at(0) == together[i]);
  }
}

TEST_CASE("rows that an index does not find are left out, not taken for the last passage") {
  const Vectors rows = clustered(400, 8, 7), queries = clustered(1, 8, 8);
  const FaissIndex index = built(rows, "IVF8,Flat", {.nprobe = 1});
  const auto found = index.search(queries_of(queries, 400));
  CHECK(found[0].size() < 400);
  CHECK(found[0].size() > 0);
  CHECK(index.search(std::vector<VectorQuery>{VectorQuery(queries.row(0), 0)})[0].empty());
  CHECK(built(rows, "Flat").search(queries_of(queries, 1000))[0].size() == 400);
  CHECK(index.search({}).empty());
}

TEST_CASE_FIXTURE(test::InFolder, "a file that is missing or no index is an error that names it") {
  CHECK_THROWS_WITH_AS((void)FaissIndex::load(folder / "none"), (folder / "none" + ": there is no such file").c_str(),
                       InputError);
  test::write_bytes(folder / "text", "this is no index, whatever its name says, and it is long enough to read from");
  CHECK_THROWS_AS((void)FaissIndex::load(folder / "text"), InputError);
  const std::string file = save_built(clustered(100, 8, 11), "Flat", folder / "index");
  test::write_bytes(file, test::read_bytes(file).substr(0, 1000));
  const pid_t child = fork();  // faiss leaks what it had read so far: in a child that does not matter
  if (child == 0) {
    try {
      (void)FaissIndex::load(file);
    } catch (const InputError& error) {
      _exit(std::string(error.what()).starts_with(file + ": faiss cannot read it: ") ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("bad options are refused by name") {
  const Vectors rows = clustered(100, 8, 12);
  CHECK_THROWS_AS(built(rows, "Flat", {.threads = 0}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(built(rows, "Flat", {.nprobe = 4}),
                       "option 'nprobe' is 4, allowed: 0, because this index has no such parameter",
                       std::invalid_argument);
  CHECK_THROWS_AS(built(rows, "Flat", {.ef_search = 4}), std::invalid_argument);
}

TEST_CASE_FIXTURE(test::InFolder, "ids that are not row numbers are an error, not another passage") {
  faiss::IndexFlatIP flat(2);
  faiss::IndexIDMap map(&flat);
  const std::vector<float> values{1, 0, 0, 1};
  const std::vector<std::int64_t> ids{70, 71};
  map.add_with_ids(2, values.data(), ids.data());
  faiss::write_index(&map, (folder / "index").c_str());
  const FaissIndex index = FaissIndex::load(folder / "index");
  CHECK_THROWS_AS((void)index.search(std::vector<VectorQuery>{VectorQuery(std::span(values).first(2), 1)}),
                  BackendError);
}

TEST_CASE_FIXTURE(test::InFolder, "the fingerprint changes with the file and search parameters, not with threads") {
  const Vectors rows = clustered(400, 8, 13);
  const std::string file = save_built(rows, "IVF8,Flat", folder / "a");
  const Hash first = FaissIndex::load(file).fingerprint();
  CHECK(FaissIndex::load(file, {.threads = 2}).fingerprint() == first);
  CHECK(FaissIndex::load(file, {.nprobe = 2}).fingerprint() != first);
  CHECK(FaissIndex::load(save_built(rows, "IVF8,Flat", folder / "b")).fingerprint() == first);
  CHECK(FaissIndex::load(save_built(rows, "IVF4,Flat", folder / "b")).fingerprint() != first);
  CHECK(FaissIndex::load(save_built(clustered(400, 8, 14), "IVF8,Flat", file)).fingerprint() != first);
}

TEST_CASE("a retriever over a faiss index returns its passages") {
  const auto encoder = [](std::span<const EncodeRequest> texts) {
    std::vector<Embedding> embeddings;
    for (const auto& text : texts) embeddings.push_back({static_cast<float>(text.text.size()), 1});
    return embeddings;
  };
  Faiss retriever({Passage("a", "", "xxxxx"), Passage("b", "", "x"), Passage("c", "", "xxx")},
                  built(Vectors({5, 1, 1, 1, 3, 1}, 2), "Flat", {}, faiss::METRIC_L2), encoder);
  const std::vector<Query> queries{Query("yy", 2), Query("yyyyyyyyy", 1)};
  const auto results = retriever(queries);
  REQUIRE(results.size() == 2);
  REQUIRE(results[0].value().size() == 2);
  CHECK(results[0].value()[0].id() == "b");  // at distance 1, as c, which stands later
  CHECK(results[0].value()[1].id() == "c");
  CHECK(results[0].value()[0].score() == -1);
  CHECK(results[1].value().at(0).id() == "a");
}

}  // namespace faiss_test
