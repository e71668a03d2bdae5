#pragma once

#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Vectors for exact search, in a file that is mapped into memory or in memory. Every part is checked when it is read.
/// Throws InputError that names the file. Copies share the vectors.
class DenseFile {
 public:
  static constexpr const char* kind = "dense";
  static constexpr std::uint32_t version = 2;
  static constexpr std::size_t most_dimensions = 65536;
  class Writer;

  /// Encodes all passages of a corpus into a file of vectors, `batch` at a time. told(rows) is called for each row
  /// written. Throws the encoder's first error, and BackendError if embeddings differ in dimension. Throws
  /// std::invalid_argument if there are no passages, or for a row that is not finite.
  template <class Corpus, class Told>
  static void write(const std::string& path, const Corpus& passages, detail::AnyEncoder encoder, Metric metric,
                    std::size_t batch, const Told& told);

  explicit DenseFile(const std::string& path) : DenseFile(detail::CheckedFile(path, kind, version)) {}
  explicit DenseFile(const detail::CheckedFile& file)
      : about_(file.section("about").items<About>(0, 1)[0]), vectors_(file.section("vectors")) {
    if (about_.precision != 0) vectors_.fail("holds 16-bit numbers, which only faiss reads now: build the index again");
    if (about_.dimension == 0 || about_.dimension > most_dimensions || about_.rows > ~std::uint32_t(0) ||
        about_.metric > 2)
      file.section("about").fail("holds a number out of range");
    if (vectors_.size() != about_.rows * about_.dimension * sizeof(float)) vectors_.fail("has a wrong size");
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(about_.rows); }
  [[nodiscard]] std::size_t dimension() const { return static_cast<std::size_t>(about_.dimension); }
  [[nodiscard]] Metric metric() const { return static_cast<Metric>(about_.metric); }
  /// Length of the longest row.
  [[nodiscard]] double longest() const { return about_.longest; }
  /// Identity of values, shape and metric.
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add("dense file").add(about_.identity[0]).add(about_.identity[1]).finish();
  }
  /// `count` rows from row `first` on, one after the other.
  [[nodiscard]] std::span<const float> read(std::size_t first, std::size_t count) const {
    return vectors_.items<float>(first * dimension(), count * dimension());
  }

 private:
  /// The section "about".
  struct About {
    std::uint64_t rows, dimension;
    std::uint64_t precision;    ///< always 0
    std::uint64_t metric;       ///< 0 = inner_product, 1 = cosine (rows have length 1), 2 = l2
    std::uint64_t identity[2];  ///< hash of values, shape and metric
    std::uint64_t unused[3];
    double longest;  ///< length of the longest row
  };
  About about_;
  detail::CheckedFile::Section vectors_;
};

/// Writes a file of vectors, row by row, or vectors in memory if the path is empty. Throws std::invalid_argument for a
/// row that is not finite or has another dimension.
class DenseFile::Writer {
 public:
  Writer(const std::string& path, std::size_t dimension, Metric metric = Metric::inner_product)
      : file_(path, kind, version), dimension_(dimension), metric_(metric) {
    if (dimension == 0 || dimension > most_dimensions) bad_option("dimension", dimension, "1 to 65536");
    file_.begin("vectors");
  }
  void add(std::span<const float> vector) {
    if (const std::string fault = detail::vector_fault(vector, dimension_); !fault.empty())
      throw std::invalid_argument("row " + std::to_string(rows_) + ": " + fault);
    std::vector<float> row(vector.begin(), vector.end());
    if (metric_ == Metric::cosine) detail::normalise(std::span(row));
    file_.write(std::span(row));
    for (const float value : row) hasher_.add(std::uint64_t(std::bit_cast<std::uint32_t>(value)));
    longest_ = std::max(longest_, detail::length_of(row));
    ++rows_;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Returns the vectors.
  DenseFile commit() {
    const Hash identity = hasher_.add(std::uint64_t(dimension_)).add(std::uint64_t(metric_)).finish();
    const About about{rows_, dimension_, 0, std::uint64_t(metric_), {identity.high, identity.low}, {}, longest_};
    file_.begin("about");
    file_.write(std::span(&about, 1));
    return DenseFile(file_.commit());
  }

 private:
  detail::CheckedWriter file_;
  std::size_t dimension_, rows_ = 0;
  double longest_ = 0;
  Metric metric_;
  Hasher hasher_;
};

template <class Corpus, class Told>
void DenseFile::write(const std::string& path, const Corpus& passages, detail::AnyEncoder encoder, Metric metric,
                      std::size_t batch, const Told& told) {
  std::optional<Writer> writer;
  const auto take = [&](std::span<const float> vector) {
    if (!writer) writer.emplace(path, vector.size(), metric);
    writer->add(vector);
    told(writer->rows());
  };
  detail::encode_each(passages, std::move(encoder), take, batch);
  writer->commit();
}

}  // namespace espalier::backend
