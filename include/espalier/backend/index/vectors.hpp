#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// How two vectors are compared. A larger score is nearer. The score of `l2` is the negative squared distance.
enum class Metric : std::uint8_t { inner_product, cosine, l2 };

/// A matrix [n, dimension], stored by rows.
class Vectors {
 public:
  /// Throws std::invalid_argument unless the values fill whole rows.
  Vectors(std::vector<float> values, std::size_t dimension) : values_(std::move(values)), dimension_(dimension) {
    if (dimension_ == 0 || values_.size() % dimension_ != 0)
      bad_option("dimension", dimension_,
                 "1 or more, and a divisor of the number of values " + std::to_string(values_.size()));
  }
  [[nodiscard]] std::size_t rows() const { return values_.size() / dimension_; }
  [[nodiscard]] std::size_t dimension() const { return dimension_; }
  [[nodiscard]] std::span<const float> values() const { return values_; }
  [[nodiscard]] std::span<const float> row(std::size_t i) const { return values().subspan(i * dimension_, dimension_); }

 private:
  std::vector<float> values_;
  std::size_t dimension_;
};

/// One search: a vector and the number of rows to return. Does not own the vector.
struct VectorQuery {
  std::span<const float> vector;
  std::size_t k;
};

/// A row that a search found, with its score.
struct Hit {
  std::uint32_t row;
  double score;
  /// Best first. Equal scores are ordered by row.
  friend bool operator<(const Hit& a, const Hit& b) { return a.score != b.score ? a.score > b.score : a.row < b.row; }
  friend bool operator==(const Hit&, const Hit&) = default;
};

/// search(queries) -> at most k hits per query, best first. A result must not depend on the other queries.
template <class I>
concept VectorIndex = requires(const I& index, std::span<const VectorQuery> queries) {
  { index.search(queries) } -> std::same_as<std::vector<std::vector<Hit>>>;
  { index.rows() } -> std::convertible_to<std::size_t>;
  { index.dimension() } -> std::convertible_to<std::size_t>;
  { index.fingerprint() } -> std::same_as<Hash>;
};

namespace detail {

inline constexpr std::array<const char*, 3> metric_names = {"inner_product", "cosine", "l2"};

/// Throws std::invalid_argument for an unknown name.
inline Metric metric_named(const std::string& name) {
  for (std::size_t i = 0; i < metric_names.size(); ++i)
    if (name == metric_names[i]) return static_cast<Metric>(i);
  bad_option("metric", name, "inner_product, cosine, l2");
}

/// term(0) + ... + term(n - 1), summed in a fixed order.
double sum_of(std::size_t n, const auto& term) {
  double lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; ++j) lanes[j] += term(i + j);
  for (std::size_t j = 0; j < n % 8; ++j) lanes[j] += term(i + j);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

/// The inner product. Products of floats are exact in double, with or without fused multiplication.
inline double exact_dot(const float* a, const float* b, std::size_t n) {
  return sum_of(n, [a, b](std::size_t i) { return double(a[i]) * double(b[i]); });
}

/// The squared distance. Its bits are the same where the compiler fuses no multiplication with a sum.
inline double exact_square_distance(const float* a, const float* b, std::size_t n) {
  return sum_of(n, [a, b](std::size_t i) { return (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i])); });
}

inline double length_of(std::span<const float> vector) {
  return std::sqrt(exact_dot(vector.data(), vector.data(), vector.size()));
}

/// Why a vector cannot be compared with others of this dimension, "" if it can.
inline std::string vector_fault(std::span<const float> vector, std::size_t dimension) {
  if (vector.size() != dimension)
    return "an embedding has " + std::to_string(vector.size()) + " dimensions, not " + std::to_string(dimension);
  constexpr double longest = 1e18;  // no inner product of two such vectors overflows
  if (!(length_of(vector) <= longest)) return "an embedding holds a number that is not finite or too large";
  return "";
}

/// Scales a vector to length 1. A zero vector is unchanged.
inline void normalise(std::span<float> vector) {
  const double length = length_of(vector);
  if (length > 0)
    for (float& x : vector) x = static_cast<float>(double(x) / length);
}

}  // namespace detail

}  // namespace espalier::backend
