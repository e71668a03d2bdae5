#pragma once

#include <espalier/backend/detail/index/checked_file.hpp>
#include <espalier/backend/detail/index/checked_writer.hpp>
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

inline constexpr std::size_t most_dimensions = 65536;

}  // namespace detail

/// Vectors for exact search, in a file that is mapped into memory or in memory, in either precision. Every part is
/// checked when it is read. Throws InputError that names the file. Copies share the vectors.
class DenseFile {
 public:
  static constexpr const char* kind = "dense";
  static constexpr std::uint32_t version = 2;
  class Writer;

  /// Encodes all passages of a corpus into a file of vectors, `batch` at a time. told(rows) is called for each row
  /// written. `fingerprint` is the encoder's, zeros = unknown. With float16 each number is rounded to the nearest
  /// 16-bit number. Throws the encoder's first error, and
  /// BackendError if embeddings differ in dimension. Throws std::invalid_argument if there are no passages, or for a
  /// row that is not finite or too large for float16.
  template <class Corpus, class Told>
  static void write(const std::string& path, const Corpus& passages, detail::AnyEncoder encoder, Hash fingerprint,
                    Metric metric, Precision precision, std::size_t batch, const Told& told);

  explicit DenseFile(const std::string& path) : DenseFile(detail::CheckedFile(path, kind, version)) {}
  explicit DenseFile(const detail::CheckedFile& file)
      : about_(file.section("about").items<About>(0, 1)[0]), vectors_(file.section("vectors")) {
    if (about_.dimension == 0 || about_.dimension > detail::most_dimensions || about_.rows > ~std::uint32_t(0) ||
        about_.metric > 2 || about_.precision > 1)
      file.section("about").fail("holds a number out of range");
    if (vectors_.size() != about_.rows * about_.dimension * (precision() == Precision::float32 ? 4 : 2))
      vectors_.fail("has a wrong size");
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
  /// `count` rows from row `first` on. They may be written to `room` and are then valid as long as `room`.
  [[nodiscard]] std::span<const float> read(std::size_t first, std::size_t count, std::vector<float>& room) const {
    if (precision() == Precision::float32) return vectors_.items<float>(first * dimension(), count * dimension());
    room.clear();
    for (const std::uint16_t half : vectors_.items<std::uint16_t>(first * dimension(), count * dimension()))
      room.push_back(detail::from_half(half));
    return room;
  }

 private:
  /// The section "about".
  struct About {
    std::uint64_t rows, dimension;
    std::uint64_t precision;    ///< of the rows: 0 = float32, 1 = float16
    std::uint64_t metric;       ///< 0 = inner_product, 1 = cosine (rows have length 1), 2 = l2
    std::uint64_t identity[2];  ///< hash of values, shape and metric
    std::uint64_t encoder[2];   ///< fingerprint of the encoder, 0 = unknown
    double unused, longest;     ///< length of the longest row
  };
  About about_;
  detail::CheckedFile::Section vectors_;
};

/// Writes a file of vectors, row by row, or vectors in memory if the path is empty. With float16 each number is rounded
/// to the nearest 16-bit number. Throws std::invalid_argument for a row that is not finite, has another dimension, or
/// is too large for float16.
class DenseFile::Writer {
 public:
  Writer(const std::string& path, std::size_t dimension, Metric metric = Metric::inner_product, Hash encoder = {},
         Precision precision = Precision::float32)
      : file_(path, kind, version), dimension_(dimension), metric_(metric), precision_(precision), encoder_(encoder) {
    if (dimension == 0 || dimension > detail::most_dimensions) bad_option("dimension", dimension, "1 to 65536");
    file_.begin("vectors");
  }
  void add(std::span<const float> vector) {
    if (const std::string fault = detail::vector_fault(vector, dimension_); !fault.empty())
      throw std::invalid_argument("row " + std::to_string(rows_) + ": " + fault);
    std::vector<float> row(vector.begin(), vector.end());
    if (metric_ == Metric::cosine) detail::normalise(row);
    if (precision_ == Precision::float16) write_halves(row);
    else file_.write(std::span<const float>(row));
    for (const float value : row) hasher_.add(std::uint64_t(std::bit_cast<std::uint32_t>(value)));
    longest_ = std::max(longest_, detail::length_of(row));
    ++rows_;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Returns the vectors.
  DenseFile commit() {
    const Hash identity = hasher_.add(std::uint64_t(dimension_)).add(std::uint64_t(metric_)).finish();
    const About about{rows_,
                      dimension_,
                      std::uint64_t(precision_),
                      std::uint64_t(metric_),
                      {identity.high, identity.low},
                      {encoder_.high, encoder_.low},
                      0,
                      longest_};
    file_.begin("about");
    file_.write(std::span(&about, 1));
    return DenseFile(file_.commit());
  }

 private:
  void write_halves(std::span<float> row) {
    std::vector<std::uint16_t> halves;
    for (float& value : row) {
      if (!detail::fits_half(value))
        throw std::invalid_argument("row " + std::to_string(rows_) + ": an embedding holds " + std::to_string(value) +
                                    ", float16 no more than 65504");
      halves.push_back(detail::to_half(value));
      value = detail::from_half(halves.back());
    }
    file_.write(std::span<const std::uint16_t>(halves));
  }

  detail::CheckedWriter file_;
  std::size_t dimension_, rows_ = 0;
  double longest_ = 0;
  Metric metric_;
  Precision precision_;
  Hash encoder_;
  Hasher hasher_;
};

template <class Corpus, class Told>
void DenseFile::write(const std::string& path, const Corpus& passages, detail::AnyEncoder encoder, Hash fingerprint,
                      Metric metric, Precision precision, std::size_t batch, const Told& told) {
  std::optional<Writer> writer;
  const auto take = [&](std::span<const float> vector) {
    if (!writer) writer.emplace(path, vector.size(), metric, fingerprint, precision);
    writer->add(vector);
    told(writer->rows());
  };
  detail::encode_each(passages, std::move(encoder), take, batch);
  writer->commit();
}

}  // namespace espalier::backend
