#include <espalier/backend/bm25.hpp>
#include <espalier/backend/dense.hpp>
#include <espalier/backend/dense_file.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/core/concepts.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/llm/scheduler.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>

namespace dense_test {

namespace {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;
using namespace espalier::backend::detail;

static_assert(backend::VectorIndex<DenseIndex>);
static_assert(Retriever<Dense>);

float value(Random& random) { return static_cast<float>(random.uniform() * 2 - 1); }

Vectors random_vectors(std::size_t rows, std::size_t dimension, std::uint64_t seed) {
  Random random{Seed(seed)};
  std::vector<float> values(rows * dimension);
  for (float& x : values) x = value(random);
  return Vectors(std::move(values), dimension);
}
std::vector<VectorQuery> queries_of(const Vectors& vectors, std::size_t k) {
  std::vector<VectorQuery> queries;
  for (std::size_t i = 0; i < vectors.rows(); ++i) queries.emplace_back(vectors.row(i), k);
  return queries;
}

/// The plain loop: long double sums, full sort, ties by row.
std::vector<std::uint32_t> plain_order(const Vectors& rows, std::span<const float> query, std::size_t k, bool cosine) {
  std::vector<std::pair<long double, std::uint32_t>> scored;
  for (std::uint32_t i = 0; i < rows.rows(); ++i) {
    long double dot = 0, length = 0;
    for (std::size_t j = 0; j < query.size(); ++j) {
      dot += static_cast<long double>(query[j]) * rows.row(i)[j];
      length += static_cast<long double>(rows.row(i)[j]) * rows.row(i)[j];
    }
    scored.emplace_back(cosine ? -dot / std::sqrt(length) : -dot, i);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < std::min(k, scored.size()); ++i) order.push_back(scored[i].second);
  return order;
}
std::vector<std::uint32_t> rows_of(const std::vector<Hit>& hits) {
  std::vector<std::uint32_t> rows;
  for (const Hit& hit : hits) rows.push_back(hit.row);
  return rows;
}

/// A text "x,y" or "x" is the vector (x, y, 1) or (x, 0, 1); other texts fail. Counts its calls.
struct TextEncoder {
  int* calls;
  std::vector<Outcome<Embedding>> operator()(std::span<const EncodeRequest> texts) const {
    ++*calls;
    std::vector<Outcome<Embedding>> embeddings;
    for (const EncodeRequest& request : texts) {
      Embedding e{0, 0, 1};
      if (std::sscanf(request.text.c_str(), "%f,%f", &e[0], &e[1]) >= 1) embeddings.emplace_back(std::move(e));
      else if (request.text == "nan") embeddings.emplace_back(Embedding{0, 0, std::numeric_limits<float>::quiet_NaN()});
      else if (request.text == "short") embeddings.emplace_back(Embedding{1});
      else embeddings.emplace_back(std::make_exception_ptr(BackendError("cannot encode " + request.text)));
    }
    return embeddings;
  }
};

std::vector<Passage> points() {
  return {Passage("a", "", "1,0"), Passage("b", "", "0,2"), Passage("c", "", "-1,0"), Passage("d", "", "1,0")};
}

}  // namespace

TEST_CASE("hits are those of a plain loop, by inner product and by cosine") {
  for (const std::size_t dimension : {1UL, 3UL, 7UL, 64UL, 100UL}) {
    CAPTURE(dimension);
    const Vectors rows = random_vectors(2500, dimension, 1), queries = random_vectors(70, dimension, 2);
    for (const Metric metric : {Metric::inner_product, Metric::cosine}) {
      const DenseIndex index(rows, {.metric = metric});
      const auto found = index.search(queries_of(queries, 10));
      REQUIRE(found.size() == 70);
      if (dimension == 1 && metric == Metric::cosine) continue;  // all rows tie: see the test of ties
      for (std::size_t i = 0; i < 70; ++i)
        CHECK(rows_of(found[i]) == plain_order(rows, queries.row(i), 10, metric == Metric::cosine));
    }
  }
}

TEST_CASE("a score is the inner product, and with cosine that of vectors of length 1") {
  const Vectors rows({3, 4, 1, 0, 0, 0}, 2);
  const std::vector<float> query{6, 8};
  const std::vector<VectorQuery> queries{VectorQuery(query, 3)};
  const auto inner = DenseIndex(rows).search(queries);
  CHECK(inner[0] == std::vector<Hit>{Hit(0, 50), Hit(1, 6), Hit(2, 0)});
  const auto cosine = DenseIndex(rows, {.metric = Metric::cosine}).search(queries);
  CHECK(rows_of(cosine[0]) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(cosine[0][0].score == doctest::Approx(1).epsilon(1e-6));
  CHECK(cosine[0][1].score == doctest::Approx(0.6).epsilon(1e-6));
  CHECK(cosine[0][2].score == 0);
}

TEST_CASE("results are the same bits for any batch size, order of the batch and number of threads") {
  const Vectors rows = random_vectors(5000, 48, 3), queries = random_vectors(150, 48, 4);
  const auto all = queries_of(queries, 20);
  const auto together = DenseIndex(rows).search(all);
  for (const std::size_t threads : {1UL, 2UL, 3UL, 16UL}) {
    const DenseIndex index(rows, {.threads = threads});
    CHECK(index.search(all) == together);
    for (const std::size_t batch : {1UL, 3UL, 65UL})
      for (std::size_t begin = 0; begin < all.size(); begin += batch * 7) {
        const auto part = std::span(all).subspan(begin, std::min(batch, all.size() - begin));
        const auto found = index.search(part);
        for (std::size_t i = 0; i < part.size(); ++i) CHECK(found[i] == together[begin + i]);
      }
  }
}

TEST_CASE("every compiler gives the same bits") {
  const Vectors rows = random_vectors(3000, 100, 9), queries = random_vectors(20, 100, 10);
  Hasher hasher;
  for (const Metric metric : {Metric::inner_product, Metric::cosine})
    for (const auto& hits : DenseIndex(rows, {.metric = metric}).search(queries_of(queries, 10)))
      for (const Hit& hit : hits) hasher.add(std::uint64_t(hit.row)).add(hit.score);
  CHECK(hasher.finish().hex() == "532958a8301d544681a4b33956bd978b");
}

TEST_CASE("rows that rounding in single precision would swap are ranked by their true scores") {
  // Every row is the first one with one coordinate moved by a few units in the last place.
  constexpr std::size_t dimension = 384, count = 3000;
  Random random{Seed(5)};
  std::vector<float> base(dimension), values;
  for (float& x : base) x = value(random);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> row = base;
    float& moved = row[random.below(dimension)];
    for (std::uint32_t steps = random.below(4); steps > 0; --steps) moved = std::nextafter(moved, 2.0F);
    values.insert(values.end(), row.begin(), row.end());
  }
  const Vectors rows(values, dimension);
  const Vectors queries = random_vectors(3, dimension, 6);
  const auto found = DenseIndex(rows).search(queries_of(queries, 25));
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<Hit> plain;
    for (std::uint32_t r = 0; r < count; ++r)
      plain.emplace_back(r, backend::detail::exact_dot(rows.row(r).data(), queries.row(i).data(), dimension));
    std::sort(plain.begin(), plain.end());
    plain.erase(plain.begin() + 25, plain.end());
    CHECK(found[i] == plain);
  }
}

TEST_CASE("the nearest by l2 come first, whatever the rows' lengths") {
  Random random{Seed(9)};
  std::vector<float> values;
  for (int i = 0; i < 1500; ++i) {
    const float scale = i % 7 == 0 ? 1e-3F : i % 5 == 0 ? 40.0F : 1.0F;
    for (int j = 0; j < 33; ++j) values.push_back(scale * value(random));
  }
  for (int j = 0; j < 33; ++j) values.push_back(1e-36F);
  const Vectors rows(values, 33);
  for (const float length : {0.0F, 1e-4F, 1.0F, 30.0F}) {
    std::vector<float> query;
    for (int j = 0; j < 33; ++j) query.push_back(length * value(random));
    std::vector<Hit> plain;
    for (std::uint32_t r = 0; r < rows.rows(); ++r)
      plain.emplace_back(r, -backend::detail::exact_square_distance(query.data(), rows.row(r).data(), 33));
    std::sort(plain.begin(), plain.end());
    plain.erase(plain.begin() + 20, plain.end());
    for (const std::size_t threads : {1UL, 3UL})
      CHECK(DenseIndex(rows, {.metric = Metric::l2, .threads = threads})
                .search(std::vector<VectorQuery>{VectorQuery(query, 20)})[0] == plain);
  }
  CHECK(backend::detail::exact_square_distance(rows.row(0).data(), rows.row(0).data(), 33) == 0);
}

TEST_CASE("equal scores stand in the order of their rows") {
  std::vector<float> values;
  for (int i = 0; i < 4000; ++i) values.insert(values.end(), {i % 2 ? 1.0F : 0.5F, 1.0F});
  const std::vector<float> query{1, 0};
  const auto found =
      DenseIndex(Vectors(values, 2), {.threads = 3}).search(std::vector<VectorQuery>{VectorQuery(query, 5)});
  CHECK(rows_of(found[0]) == std::vector<std::uint32_t>{1, 3, 5, 7, 9});
}

TEST_CASE("k of nothing, of more than there is, and different k in one batch") {
  const Vectors rows = random_vectors(30, 5, 7), queries = random_vectors(1, 5, 8);
  const DenseIndex index(rows);
  const std::vector<VectorQuery> batch{VectorQuery(queries.row(0), 0), VectorQuery(queries.row(0), 4000000000),
                                       VectorQuery(queries.row(0), 3)};
  const auto found = index.search(batch);
  CHECK(found[0].empty());
  CHECK(rows_of(found[1]) == plain_order(rows, queries.row(0), 30, false));
  CHECK(rows_of(found[2]) == plain_order(rows, queries.row(0), 3, false));
  CHECK(index.search({}).empty());
}

TEST_CASE("bad vectors and options are refused with a reason") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(DenseIndex(Vectors({1, 2, 3, nan}, 2)),
                       "row 1: an embedding holds a number that is not finite or too large", std::invalid_argument);
  CHECK_THROWS_AS(DenseIndex(Vectors({1e30F, 1e30F}, 2)), std::invalid_argument);
  CHECK_THROWS_AS(Vectors({1, 2, 3}, 2), std::invalid_argument);
  CHECK_THROWS_AS(Vectors(std::vector<float>(), 0), std::invalid_argument);
  CHECK_THROWS_WITH_AS(DenseIndex(Vectors({1, 2}, 2), {.threads = 0}), "option 'threads' is 0, allowed: 1 or more",
                       std::invalid_argument);
  CHECK_THROWS_AS(DenseIndex(Vectors(std::vector<float>(65537), 65537)), std::invalid_argument);
}

TEST_CASE("a dense retriever encodes passages in batches and the queries of a batch in one call") {
  int calls = 0;
  Dense dense(points(), TextEncoder{&calls});
  CHECK(calls == 1);
  const std::vector<Query> queries{Query("1,0", 2), Query("0,1", 1)};
  const auto results = dense(queries);
  CHECK(calls == 2);
  REQUIRE(results.size() == 2);
  const Passages& first = results[0].value();
  REQUIRE(first.size() == 2);
  CHECK(first[0].id() == "a");  // ties with d, which comes later
  CHECK(first[1].id() == "d");
  CHECK(first[0].score() == 2);  // 1 * 1 + 0 * 0 + 1 * 1
  CHECK(results[1].value().at(0).id() == "b");
  CHECK(results[1].value().at(0).score() == 3);

  calls = 0;
  CHECK(backend::DenseFile::write(std::nullopt, points(), TextEncoder{&calls}, Metric::l2, 3).rows() == 4);
  CHECK(calls == 2);
}

TEST_CASE("a passage is encoded with its title, if it has one") {
  CHECK(backend::detail::encoded_text(Passage("id", "Ada Lovelace", "wrote notes")) == "Ada Lovelace\nwrote notes");
  CHECK(backend::detail::encoded_text(Passage("id", "", "wrote notes")) == "wrote notes");
}

TEST_CASE("a query that cannot be encoded fails alone") {
  int calls = 0;
  Dense dense(points(), TextEncoder{&calls});
  const std::vector<Query> queries{Query("hello", 1), Query("1,0", 1), Query("nan", 1), Query("short", 1)};
  const auto results = dense(queries);
  CHECK_THROWS_WITH_AS((void)results[0].value(), "cannot encode hello", BackendError);
  CHECK(results[1].value().at(0).id() == "a");
  CHECK_THROWS_WITH_AS((void)results[2].value(), "an embedding holds a number that is not finite or too large",
                       BackendError);
  CHECK_THROWS_WITH_AS((void)results[3].value(), "an embedding has 1 dimensions, not 3", BackendError);
}

TEST_CASE("an encoder of the wrong length, an unencodable passage and a foreign index are errors") {
  int calls = 0;
  const auto one = [](std::span<const EncodeRequest>) { return std::vector<Embedding>{{1.0F}}; };
  CHECK_THROWS_WITH_AS(Dense(points(), one), "an encoder returned 1 embeddings for 4 texts", BackendError);
  CHECK_THROWS_WITH_AS(Dense({Passage("x", "", "hello")}, TextEncoder{&calls}), "cannot encode hello", BackendError);
  CHECK_THROWS_AS(Dense({}, TextEncoder{&calls}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(Dense(points(), DenseIndex(Vectors({1, 2, 3}, 3)), TextEncoder{&calls}),
                       "the index holds 1 vectors for 4 passages", std::invalid_argument);
}

TEST_CASE("the fingerprint changes with vectors, metric and passages, not with threads") {
  int calls = 0;
  const TextEncoder encoder{&calls};
  const Hash base = Dense(points(), encoder).fingerprint();
  CHECK(Dense(points(), encoder, {.threads = 3}).fingerprint() == base);
  CHECK(Dense(points(), encoder, {.metric = Metric::cosine}).fingerprint() != base);
  auto renamed = points();
  renamed[2] = Passage("z", "", "-1,0");
  CHECK(Dense(renamed, encoder).fingerprint() != base);
  auto moved = points();
  moved[2] = Passage("c", "", "-1,0.5");
  CHECK(Dense(moved, encoder).fingerprint() != base);
}

namespace {

void write(const std::string& path, const Vectors& vectors, Metric metric = Metric::inner_product) {
  DenseFile::Writer writer(path, vectors.dimension(), metric);
  for (std::size_t i = 0; i < vectors.rows(); ++i) writer.add(vectors.row(i));
  writer.commit();
}
/// (1, 2) for every text.
std::vector<Embedding> encoder(std::span<const EncodeRequest> texts) {
  return std::vector<Embedding>(texts.size(), Embedding{1, 2});
}

}  // namespace

TEST_CASE_FIXTURE(test::InFolder, "a mapped file of vectors is searched as the same vectors in memory") {
  const std::string path = folder / "vectors";
  const Vectors rows = random_vectors(3001, 37, 1), queries = random_vectors(70, 37, 2);
  for (const Metric metric : {Metric::inner_product, Metric::cosine, Metric::l2}) {
    write(path, rows, metric);
    const DenseFile file(path);
    CHECK(file.rows() == 3001);
    CHECK(file.dimension() == 37);
    CHECK(file.metric() == metric);
    const auto found = DenseIndex(file, 2).search(queries_of(queries, 12));
    CHECK(found == DenseIndex(rows, {.metric = metric}).search(queries_of(queries, 12)));
  }
}

TEST_CASE_FIXTURE(test::InFolder, "a file of 16-bit numbers, which version 0.2.0 could write, is refused by name") {
  CheckedWriter writer(folder / "vectors", DenseFile::kind, DenseFile::version);
  writer.begin("vectors");
  writer.write(std::string_view("\0\x3c\0\x3c", 4));
  writer.begin("about");
  const std::uint64_t about[10] = {1, 2, 1};
  writer.write(std::span(about));
  CHECK_THROWS_WITH_AS(DenseFile(writer.commit()), doctest::Contains("section 'vectors' holds 16-bit numbers"),
                       InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "the identity of a file is that of its vectors and metric") {
  const Vectors rows = random_vectors(20, 5, 3);
  const auto identity = [&](const Vectors& vectors, Metric metric = Metric::inner_product) {
    write(folder / "vectors", vectors, metric);
    return DenseFile(folder / "vectors").fingerprint();
  };
  CHECK(identity(rows) == identity(rows));
  CHECK(identity(rows) != identity(rows, Metric::l2));
  CHECK(identity(rows) != identity(random_vectors(20, 5, 4)));
}

TEST_CASE_FIXTURE(test::InFolder, "rows that cannot be compared are not written") {
  DenseFile::Writer writer(folder / "vectors", 2);
  writer.add(std::vector<float>{1, 2});
  CHECK_THROWS_WITH_AS(writer.add(std::vector<float>{1, 2, 3}), "row 1: an embedding has 3 dimensions, not 2",
                       std::invalid_argument);
  CHECK_THROWS_AS(writer.add(std::vector<float>{1, std::numeric_limits<float>::infinity()}), std::invalid_argument);
  CHECK_THROWS_AS(DenseFile::Writer(folder / "other", 0), std::invalid_argument);
  CHECK_THROWS_AS(DenseFile(folder / "vectors"), InputError);  // nothing stands there before commit()
}

TEST_CASE("an empty path is refused, and is not memory") {
  const char* refusal = "'': cannot be written: the path is empty";
  CHECK_THROWS_WITH_AS(DenseFile::write("", Passages{Passage("a", "", "x")}, encoder, Metric::l2), refusal, InputError);
  CHECK_THROWS_WITH_AS(DenseFile::Writer("", 2), refusal, InputError);
  CHECK_THROWS_WITH_AS(MappedCorpus::Writer(""), refusal, InputError);
  CHECK_THROWS_WITH_AS(Bm25::write_index(Passages{Passage("a", "", "x")}, {}, ""), refusal, InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "without passages there is nothing to write, and no file") {
  CHECK_THROWS_WITH_AS(
      DenseFile::write(folder / "vectors", Passages(), encoder, Metric::inner_product, 2, [](std::size_t) {}),
      "there are no passages to encode", std::invalid_argument);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE_FIXTURE(test::InFolder, "passages and vectors may both lie in files") {
  write(folder / "vectors", Vectors({1, 0, 0, 1}, 2));
  {
    MappedCorpus::Writer writer(folder / "corpus");
    writer.add(Passage("a", "T", "x"), 1);
    writer.add(Passage("b", "U", "y"), 2);
    writer.commit();
  }
  VectorRetriever<DenseIndex, MappedCorpus> retriever(MappedCorpus(folder / "corpus"),
                                                      DenseIndex(DenseFile(folder / "vectors")), encoder);
  const auto found = retriever(std::vector<Query>{Query("q", 2)});
  REQUIRE(found[0].value().size() == 2);
  CHECK(found[0].value()[0] == Passage("b", "U", "y", 2));
  CHECK(found[0].value()[1].id() == "a");
}

}  // namespace dense_test
