#include <espalier/backend/dense.hpp>
#include <espalier/backend/dense_file.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/core/seed.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>

namespace dense_file_test {

namespace {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;
using namespace espalier::backend::detail;

Vectors random_vectors(std::size_t rows, std::size_t dimension, std::uint64_t seed) {
  Random random{Seed(seed)};
  std::vector<float> values(rows * dimension);
  for (float& x : values) x = static_cast<float>(random.uniform() * 2 - 1);
  return Vectors(std::move(values), dimension);
}
void write(const std::string& path, const Vectors& vectors, Metric metric = Metric::inner_product, Hash encoder = {},
           Precision precision = Precision::float32) {
  DenseFile::Writer writer(path, vectors.dimension(), metric, encoder, precision);
  for (std::size_t i = 0; i < vectors.rows(); ++i) writer.add(vectors.row(i));
  writer.commit();
}
std::vector<VectorQuery> queries_of(const Vectors& vectors) {
  std::vector<VectorQuery> queries;
  for (std::size_t i = 0; i < vectors.rows(); ++i) queries.emplace_back(vectors.row(i), 12);
  return queries;
}

}  // namespace

TEST_CASE("a mapped file of vectors is searched as the same vectors in memory") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "vectors";
  const Vectors rows = random_vectors(3001, 37, 1), queries = random_vectors(70, 37, 2);
  for (const Metric metric : {Metric::inner_product, Metric::cosine, Metric::l2}) {
    write(path, rows, metric, Hash{1, 2});
    const DenseFile file(path);
    CHECK(file.rows() == 3001);
    CHECK(file.dimension() == 37);
    CHECK(file.metric() == metric);
    CHECK(file.encoder() == Hash{1, 2});
    const auto found = DenseIndex(file, 2).search(queries_of(queries));
    CHECK(found == DenseIndex(rows, {.metric = metric}).search(queries_of(queries)));
  }
}

TEST_CASE("numbers of 16 bits are the nearest ones, the even one of two") {
  const std::pair<float, unsigned> known[] = {{0.F, 0},
                                              {-0.F, 0x8000},
                                              {1.F, 0x3c00},
                                              {-2.F, 0xc000},
                                              {65504.F, 0x7bff},
                                              {0x1p-14F, 0x0400},
                                              {0x1p-24F, 1},
                                              {0x1p-25F, 0},
                                              {0x1.8p-24F, 2},
                                              {0x1.8p-25F, 1},
                                              {0.1F, 0x2e66},
                                              {0x1.ff8p-15F, 0x03ff},
                                              {1 + 0x1p-11F, 0x3c00},
                                              {1 + 0x1.8p-10F, 0x3c02},
                                              {0x1.fffp-15F, 0x0400},
                                              {0x1.ffdp-1F, 0x3bff},
                                              {65519.F, 0x7bff}};
  for (const auto& [x, half] : known) {
    CAPTURE(x);
    CHECK(to_half(x) == half);
  }
  for (unsigned half = 0; half < 0x10000; ++half)
    if ((half & 0x7c00) != 0x7c00) REQUIRE(to_half(from_half(static_cast<std::uint16_t>(half))) == half);
  CHECK(from_half(0x3555) == 0x1.554p-2F);
  CHECK(from_half(0x83ff) == -0x1.ff8p-15F);
  CHECK(fits_half(-65519.F));
  CHECK_FALSE(fits_half(65520.F));
}

TEST_CASE("a file of float16 finds exactly what a plain loop over its values finds, in less space") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "vectors";
  const Vectors rows = random_vectors(1501, 37, 7), queries = random_vectors(9, 37, 8);
  for (const Metric metric : {Metric::inner_product, Metric::cosine, Metric::l2}) {
    write(path, rows, metric);
    const auto size = std::filesystem::file_size(path);
    write(path, rows, metric, {}, Precision::float16);
    CHECK(std::filesystem::file_size(path) + 2 * 1501 * 37 == doctest::Approx(double(size)).epsilon(0.01));
    const DenseFile file(path);
    CHECK(file.precision() == Precision::float16);
    const auto found = DenseIndex(file).search(queries_of(queries));
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      std::vector<float> query(queries.row(q).begin(), queries.row(q).end()), room;
      if (metric == Metric::cosine) normalise(query);
      std::vector<Hit> all;
      for (std::size_t i = 0; i < rows.rows(); ++i) {
        const auto row = file.read(i, 1, room);
        if (q == 0 && metric == Metric::l2)
          for (std::size_t j = 0; j < row.size(); ++j) REQUIRE(row[j] == from_half(to_half(rows.row(i)[j])));
        all.emplace_back(static_cast<std::uint32_t>(i), metric == Metric::l2
                                                            ? -exact_square_distance(query.data(), row.data(), 37)
                                                            : exact_dot(query.data(), row.data(), 37));
      }
      std::sort(all.begin(), all.end());
      all.erase(all.begin() + 12, all.end());
      CHECK(found[q] == all);
    }
  }
}

TEST_CASE("the identity of a file is that of its vectors and metric") {
  const test::TemporaryFolder folder;
  const Vectors rows = random_vectors(20, 5, 3);
  const auto identity = [&](const Vectors& vectors, Metric metric = Metric::inner_product) {
    write(folder / "vectors", vectors, metric);
    return DenseFile(folder / "vectors").fingerprint();
  };
  CHECK(identity(rows) == identity(rows));
  CHECK(identity(rows) != identity(rows, Metric::l2));
  CHECK(identity(rows) != identity(random_vectors(20, 5, 4)));
}

TEST_CASE("a file of vectors that is cut or changed anywhere is refused by name") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "vectors";
  const Vectors rows = random_vectors(40, 8, 5), queries = random_vectors(1, 8, 6);
  write(path, rows);
  const std::string good = test::read_bytes(path);
  const auto read_all = [&] {
    const DenseFile file(path);
    std::vector<float> room;
    std::size_t values = 0;
    for (std::size_t i = 0; i < file.rows(); ++i) values += file.read(i, 1, room).size();
    return DenseIndex(file).search(queries_of(queries))[0].size() + values;
  };
  CHECK(read_all() == 12 + 320);
  for (std::size_t size = 0; size < good.size(); size += 97) {
    test::write_bytes(path, good.substr(0, size));
    CHECK_THROWS_WITH_AS((void)read_all(), doctest::Contains(path.c_str()), InputError);
  }
  for (std::size_t at = 4096; at < good.size(); at += 101) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    test::write_bytes(path, bad);
    CHECK_THROWS_WITH_AS((void)read_all(), doctest::Contains(path.c_str()), InputError);
  }
}

TEST_CASE("rows that cannot be compared are not written") {
  const test::TemporaryFolder folder;
  DenseFile::Writer writer(folder / "vectors", 2);
  writer.add(std::vector<float>{1, 2});
  CHECK_THROWS_WITH_AS(writer.add(std::vector<float>{1, 2, 3}), "row 1: an embedding has 3 dimensions, not 2",
                       std::invalid_argument);
  CHECK_THROWS_AS(writer.add(std::vector<float>{1, std::numeric_limits<float>::infinity()}), std::invalid_argument);
  CHECK_THROWS_AS(DenseFile::Writer(folder / "other", 0), std::invalid_argument);
  DenseFile::Writer halves(folder / "halves", 2, Metric::inner_product, {}, Precision::float16);
  CHECK_THROWS_WITH_AS(halves.add(std::vector<float>{1, -65520}),
                       "row 0: an embedding holds -65520.000000, float16 no more than 65504", std::invalid_argument);
  CHECK_THROWS_AS(DenseFile(folder / "vectors"), InputError);  // nothing stands there before commit()
}

TEST_CASE("without passages there is nothing to write, and no file") {
  const test::TemporaryFolder folder;
  const auto encoder = [](std::span<const EncodeRequest> texts) {
    return std::vector<Embedding>(texts.size(), Embedding{1, 2});
  };
  CHECK_THROWS_WITH_AS(DenseFile::write(folder / "vectors", Passages(), encoder, {}, Metric::inner_product,
                                        Precision::float32, 2, [](std::size_t) {}),
                       "there are no passages to encode", std::invalid_argument);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("passages and vectors may both lie in files") {
  const test::TemporaryFolder folder;
  write(folder / "vectors", Vectors({1, 0, 0, 1}, 2));
  const auto encoder = [](std::span<const EncodeRequest> texts) {
    return std::vector<Embedding>(texts.size(), Embedding{0.5F, 2});
  };
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

}  // namespace dense_file_test
