#pragma once

#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/llm/passage.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace espalier::backend {

/// Vectors for exact search, in a file that is mapped into memory or in memory. Every part is checked when it is read.
/// Throws InputError that names the file. Copies share the vectors.
class DenseFile {
 public:
  static constexpr const char* kind = "dense";
  static constexpr std::uint32_t version = 2;
  static constexpr std::size_t most_dimensions = 65536;

  /// Writes vectors, row by row, to a file, or without a path to memory. Throws std::invalid_argument for a bad row.
  class Writer {
   public:
    Writer(const std::optional<std::string>& path, std::size_t dimension, Metric metric = Metric::inner_product)
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
    DenseFile commit() {
      const Hash identity = hasher_.add(std::uint64_t(dimension_)).add(std::uint64_t(metric_)).finish();
      const About about{rows_, dimension_, 0, std::uint64_t(metric_), {identity.high, identity.low}, {}, longest_};
      file_.write("about", std::span(&about, 1));
      return DenseFile(file_.commit());
    }

   private:
    detail::CheckedWriter file_;
    std::size_t dimension_, rows_ = 0;
    double longest_ = 0;
    Metric metric_;
    Hasher hasher_;
  };

  /// Encodes all passages of a corpus into a file of vectors, or into memory without a path, `batch` at a time.
  /// told(rows) is called for each row written. Throws the encoder's first error, and BackendError if an embedding is
  /// not finite or differs in dimension. Throws std::invalid_argument if there are no passages.
  static DenseFile write(const std::optional<std::string>& path, const auto& passages, detail::AnyEncoder encoder,
                         Metric metric, std::size_t batch = 256, const std::function<void(std::size_t)>& told = {}) {
    if (passages.size() == 0) throw std::invalid_argument("there are no passages to encode");
    if (batch == 0) bad_option("batch", batch, "1 or more");
    std::optional<Writer> writer;
    std::size_t dimension = 0, rows = 0;
    for (std::size_t begin = 0; begin < passages.size(); begin += batch) {
      std::vector<EncodeRequest> texts;
      for (std::size_t i = begin; i < std::min(begin + batch, passages.size()); ++i)
        texts.emplace_back(detail::encoded_text(passages[i]), EncodeRequest::Role::passage);
      for (const auto& embedding : encoder(texts)) {
        const Embedding& vector = embedding.value();
        if (dimension == 0) dimension = vector.size();
        const std::string fault = vector.empty() ? "an embedding is empty" : detail::vector_fault(vector, dimension);
        if (!fault.empty()) throw BackendError(fault, BackendError::Kind::permanent);
        if (!writer) writer.emplace(path, dimension, metric);
        writer->add(vector);
        if (told) told(++rows);
      }
    }
    return writer->commit();
  }

  explicit DenseFile(const std::string& path) : DenseFile(detail::CheckedFile(path, kind, version)) {}
  explicit DenseFile(const detail::CheckedFile& file)
      : about_(file.section("about").items<About>(0, 1)[0]), vectors_(file.section("vectors")) {
    if (about_.precision != 0) vectors_.fail("holds 16-bit numbers, which cannot be read: build the index again");
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

}  // namespace espalier::backend
