#pragma once

#include <espalier/backend/index/detail/half.hpp>
#include <espalier/backend/index/vectors.hpp>

#include <array>
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
