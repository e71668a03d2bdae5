#include <espalier/backend/bm25.hpp>
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
void write(const std::string& path, const Vectors& vectors, Metric metric = Metric::inner_product) {
  DenseFile::Writer writer(path, vectors.dimension(), metric);
  for (std::size_t i = 0; i < vectors.rows(); ++i) writer.add(vectors.row(i));
  writer.commit();
}
/// (1, 2) for every text.
std::vector<Embedding> encoder(std::span<const EncodeRequest> texts) {
  return std::vector<Embedding>(texts.size(), Embedding{1, 2});
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
    write(path, rows, metric);
    const DenseFile file(path);
    CHECK(file.rows() == 3001);
    CHECK(file.dimension() == 37);
    CHECK(file.metric() == metric);
    const auto found = DenseIndex(file, 2).search(queries_of(queries));
    CHECK(found == DenseIndex(rows, {.metric = metric}).search(queries_of(queries)));
  }
}

TEST_CASE("a file of 16-bit numbers, which version 0.2.0 could write, is refused by name") {
  const test::TemporaryFolder folder;
  CheckedWriter writer(folder / "vectors", DenseFile::kind, DenseFile::version);
  writer.begin("vectors");
  writer.write(std::string_view("\0\x3c\0\x3c", 4));
  writer.begin("about");
  const std::uint64_t about[10] = {1, 2, 1};
  writer.write(std::span(about));
  CHECK_THROWS_WITH_AS(DenseFile(writer.commit()), doctest::Contains("section 'vectors' holds 16-bit numbers"),
                       InputError);
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

TEST_CASE("rows that cannot be compared are not written") {
  const test::TemporaryFolder folder;
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

TEST_CASE("without passages there is nothing to write, and no file") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(
      DenseFile::write(folder / "vectors", Passages(), encoder, Metric::inner_product, 2, [](std::size_t) {}),
      "there are no passages to encode", std::invalid_argument);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("passages and vectors may both lie in files") {
  const test::TemporaryFolder folder;
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

}  // namespace dense_file_test
