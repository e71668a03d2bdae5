#pragma once

#include <espalier/backend/detail/index/checked_file.hpp>
#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/detail/index/section.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// The number format of stored vectors.
enum class Precision : std::uint8_t { float32, float16 };
namespace detail {

inline constexpr std::array<const char*, 2> precision_names = {"float32", "float16"};

/// Throws std::invalid_argument for an unknown name.
inline Precision precision_named(const std::string& name) {
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (name == precision_names[i]) return static_cast<Precision>(i);
  bad_option("vectors", name, "float32, float16");
}

/// The nearest 16-bit number (IEEE 754 binary16), ties to even. x must fit: |x| rounds to at most 65504.
inline std::uint16_t to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude < 0x38800000)  // below 2^-14 in steps of 2^-24
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(std::abs(double(x)) * 0x1p24)));
  return static_cast<std::uint16_t>(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - (112U << 23)) >> 13);
}
inline bool fits_half(float x) { return std::abs(x) < 65520; }

inline float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16, magnitude = half & 0x7fffU;
  const float small = static_cast<float>(magnitude) * 0x1p-24F;
  return std::bit_cast<float>(
      sign | (magnitude < 0x400 ? std::bit_cast<std::uint32_t>(small) : (magnitude << 13) + (112U << 23)));
}

/// Vectors in either precision, in memory or in a file. Reading always gives float32. Copies share one storage.
class StoredVectors {
 public:
  StoredVectors(const Vectors& vectors)  // NOLINT: the usual ones
      : StoredVectors(vectors.section(), vectors.dimension(), Precision::float32) {}
  StoredVectors(IndexSection values, std::size_t dimension, Precision precision)
      : values_(std::move(values)), dimension_(dimension), precision_(precision) {}

  [[nodiscard]] std::size_t rows() const {
    return static_cast<std::size_t>(values_.size()) / (dimension_ * (precision_ == Precision::float32 ? 4 : 2));
  }
  [[nodiscard]] std::size_t dimension() const { return dimension_; }
  /// `count` rows from row `first` on. They may be written to `room` and are then valid as long as `room`.
  [[nodiscard]] std::span<const float> operator()(std::size_t first, std::size_t count,
                                                  std::vector<float>& room) const {
    if (precision_ == Precision::float32) return values_.items<float>(first * dimension_, count * dimension_);
    room.clear();
    for (const std::uint16_t half : values_.items<std::uint16_t>(first * dimension_, count * dimension_))
      room.push_back(from_half(half));
    return room;
  }

 private:
  IndexSection values_;
  std::size_t dimension_;
  Precision precision_;
};

/// The first section of a file of vectors.
struct DenseFileAbout {
  static constexpr const char* kind = "dense";
  static constexpr std::uint32_t version = 2;

  std::uint64_t rows, dimension;
  std::uint64_t precision;    ///< of the rows: 0 = float32, 1 = float16
  std::uint64_t metric;       ///< 0 = inner_product, 1 = cosine (rows have length 1), 2 = l2
  std::uint64_t identity[2];  ///< hash of values, shape and metric
  std::uint64_t encoder[2];   ///< fingerprint of the encoder, 0 = unknown
  double unused, longest;     ///< length of the longest row
};

inline constexpr std::size_t most_dimensions = 65536;

/// Writes a file of vectors for exact search, row by row. With float16 each number is rounded to the nearest 16-bit
/// number. Throws std::invalid_argument for a row that is not finite, has another dimension, or is too large for
/// float16.
class DenseFileWriter {
 public:
  DenseFileWriter(const std::string& path, std::size_t dimension, Metric metric = Metric::inner_product,
                  Hash encoder = {}, Precision precision = Precision::float32)
      : file_(path, DenseFileAbout::kind, DenseFileAbout::version),
        dimension_(dimension),
        metric_(metric),
        precision_(precision),
        encoder_(encoder) {
    if (dimension == 0 || dimension > most_dimensions) bad_option("dimension", dimension, "1 to 65536");
    file_.begin("vectors");
  }
  void add(std::span<const float> vector) {
    if (const std::string fault = vector_fault(vector, dimension_); !fault.empty())
      throw std::invalid_argument("row " + std::to_string(rows_) + ": " + fault);
    std::vector<float> row(vector.begin(), vector.end());
    if (metric_ == Metric::cosine) normalise(row);
    if (precision_ == Precision::float16) write_halves(row);
    else file_.write(std::span<const float>(row));
    for (const float value : row) hasher_.add(std::uint64_t(std::bit_cast<std::uint32_t>(value)));
    longest_ = std::max(longest_, length_of(row));
    ++rows_;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  void commit() {
    const Hash identity = hasher_.add(std::uint64_t(dimension_)).add(std::uint64_t(metric_)).finish();
    const DenseFileAbout about{rows_,
                               dimension_,
                               std::uint64_t(precision_),
                               std::uint64_t(metric_),
                               {identity.high, identity.low},
                               {encoder_.high, encoder_.low},
                               0,
                               longest_};
    file_.begin("about");
    file_.write(std::span<const DenseFileAbout>(&about, 1));
    file_.commit();
  }

 private:
  void write_halves(std::span<float> row) {
    std::vector<std::uint16_t> halves;
    for (float& value : row) {
      if (!fits_half(value))
        throw std::invalid_argument("row " + std::to_string(rows_) + ": an embedding holds " + std::to_string(value) +
                                    ", float16 no more than 65504");
      halves.push_back(to_half(value));
      value = from_half(halves.back());
    }
    file_.write(std::span<const std::uint16_t>(halves));
  }

  CheckedWriter file_;
  std::size_t dimension_, rows_ = 0;
  double longest_ = 0;
  Metric metric_;
  Precision precision_;
  Hash encoder_;
  Hasher hasher_;
};

}  // namespace detail

/// A file of vectors, mapped into memory. Every part is checked when it is read. Throws InputError that names the file.
class DenseFile {
 public:
  static constexpr const char* kind = detail::DenseFileAbout::kind;
  static constexpr std::uint32_t version = detail::DenseFileAbout::version;

  /// Encodes all passages of a corpus into a file of vectors, `batch` at a time. told(rows) is called for each row
  /// written. `fingerprint` is the encoder's, zeros = unknown. With float16 each number is rounded to the nearest
  /// 16-bit number. Throws the encoder's first error, and
  /// BackendError if embeddings differ in dimension. Throws std::invalid_argument if there are no passages, or for a
  /// row that is not finite or too large for float16.
  template <class Corpus, class Told>
  static void write(const std::string& path, const Corpus& passages, detail::AnyEncoder encoder, Hash fingerprint,
                    Metric metric, Precision precision, std::size_t batch, const Told& told) {
    std::optional<detail::DenseFileWriter> writer;
    const auto take = [&](std::span<const float> vector) {
      if (!writer) writer.emplace(path, vector.size(), metric, fingerprint, precision);
      writer->add(vector);
      told(writer->rows());
    };
    detail::encode_each(passages, std::move(encoder), take, batch);
    writer->commit();
  }

  explicit DenseFile(const std::string& path) : DenseFile(detail::CheckedFile(path, kind, version)) {}
  explicit DenseFile(detail::CheckedFile file)
      : file_(std::move(file)), about_(file_.section("about").items<detail::DenseFileAbout>(0, 1)[0]) {
    if (about_.dimension == 0 || about_.dimension > detail::most_dimensions || about_.rows > ~std::uint32_t(0) ||
        about_.metric > 2 || about_.precision > 1)
      file_.section("about").fail("holds a number out of range");
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(about_.rows); }
  [[nodiscard]] std::size_t dimension() const { return static_cast<std::size_t>(about_.dimension); }
  [[nodiscard]] Metric metric() const { return static_cast<Metric>(about_.metric); }
  /// Fingerprint of the encoder, zeros = unknown.
  [[nodiscard]] Hash encoder() const { return {about_.encoder[0], about_.encoder[1]}; }
  [[nodiscard]] Precision precision() const { return static_cast<Precision>(about_.precision); }
  /// Length of the longest row.
  [[nodiscard]] double longest() const { return about_.longest; }
  /// Identity of values, shape and metric.
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add("dense file").add(about_.identity[0]).add(about_.identity[1]).finish();
  }
  [[nodiscard]] detail::StoredVectors vectors() const {
    const detail::CheckedFile::Section section = file_.section("vectors");
    if (section.size() != about_.rows * about_.dimension * (precision() == Precision::float32 ? 4 : 2))
      section.fail("has a wrong size");
    return {section, dimension(), precision()};
  }

 private:
  detail::CheckedFile file_;
  detail::DenseFileAbout about_;
};

}  // namespace espalier::backend
