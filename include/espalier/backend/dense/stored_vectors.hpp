#pragma once

#include <espalier/backend/index/vectors.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
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

/// Vectors in either precision. Reading always gives float32. Copies share one storage.
class StoredVectors {
 public:
  StoredVectors(Vectors vectors)
      : dimension_(vectors.dimension()),
        rows_(vectors.rows()),
        values_(std::move(vectors)) {}  // NOLINT: the usual ones
  StoredVectors(Column<std::uint16_t> halves, std::size_t dimension)
      : dimension_(dimension), rows_(halves.size() / dimension), values_(std::move(halves)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t dimension() const { return dimension_; }
  [[nodiscard]] Precision precision() const { return values_.index() == 0 ? Precision::float32 : Precision::float16; }
  /// Row i. It may be written to `room` and is then valid as long as `room`.
  [[nodiscard]] std::span<const float> row(std::size_t i, std::vector<float>& room) const {
    if (const auto* floats = std::get_if<Vectors>(&values_)) return floats->row(i);
    room.clear();
    for (const std::uint16_t half : std::get<1>(values_)(i * dimension_, dimension_)) room.push_back(from_half(half));
    return room;
  }

 private:
  std::size_t dimension_, rows_;
  std::variant<Vectors, Column<std::uint16_t>> values_;
};

}  // namespace detail

}  // namespace espalier::backend
