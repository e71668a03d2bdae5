#pragma once

#include <espalier/backend/dense/detail/byte_dots.hpp>
#include <espalier/backend/index/vectors.hpp>

#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The largest dimension whose byte products cannot overflow a sum of 32 bits.
inline constexpr std::size_t most_byte_dimensions = 65536;

/// A query as integers: vector ~ scale * bytes.
class CodedQuery {
 public:
  explicit CodedQuery(std::span<const float> vector) {
    float largest = 0;
    for (const float x : vector) largest = std::max(largest, std::abs(x));
    scale = largest > 0 ? double(largest) / 127 : 1;
    const std::size_t padded = (vector.size() + 3) / 4 * 4;
    bytes_.resize(padded);
    words_.resize(padded);
    double missed = 0, kept = 0;
    for (std::size_t i = 0; i < vector.size(); ++i) {
      const double byte = std::nearbyint(double(vector[i]) / scale);
      bytes_[i] = static_cast<std::int8_t>(byte);
      words_[i] = static_cast<std::int16_t>(byte);
      sum += static_cast<std::int32_t>(byte);
      missed += (double(vector[i]) - scale * byte) * (double(vector[i]) - scale * byte);
      kept += scale * byte * scale * byte;
    }
    error = std::sqrt(missed);
    length = std::sqrt(kept);
  }
  [[nodiscard]] ByteQuery view() const { return {bytes_.data(), words_.data()}; }

  double scale = 1;
  std::int32_t sum = 0;  ///< sum of the bytes
  double error = 0;      ///< length of the difference between the vector and its bytes
  double length = 0;     ///< length of what the bytes represent

 private:
  std::vector<std::int8_t> bytes_;
  std::vector<std::int16_t> words_;
};

/// Turns rows into bytes: row ~ scale * (byte - 128).
class ByteCoder {
 public:
  explicit ByteCoder(std::size_t dimension) : panel_size((dimension + 3) / 4 * 4 * panel_rows) {}
  void add(std::span<const float> row) {
    if (rows % panel_rows == 0) {
      bytes.resize(bytes.size() + panel_size, 128);
      scales.resize(scales.size() + panel_rows);
      half_squares.resize(half_squares.size() + panel_rows);
    }
    float largest = 0;
    for (const float x : row) largest = std::max(largest, std::abs(x));
    const float scale = largest > 1e-30F ? largest / 127 : 0;  // a shorter row counts as 0
    std::uint8_t* to = bytes.data() + rows / panel_rows * panel_size + rows % panel_rows * 4;
    double missed = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double byte = scale > 0 ? std::clamp(std::nearbyint(double(row[j]) / double(scale)), -127.0, 127.0) : 0;
      to[j / 4 * panel_rows * 4 + j % 4] = static_cast<std::uint8_t>(byte + 128);
      const double miss = double(row[j]) - double(scale) * byte;
      missed += miss * miss;
    }
    const double square = exact_dot(row.data(), row.data(), row.size());
    scales[rows] = scale;
    half_squares[rows] = static_cast<float>(square / 2);
    error = std::max(error, std::sqrt(missed));
    longest = std::max(longest, std::sqrt(square));
    ++rows;
  }
  std::size_t panel_size, rows = 0;
  std::vector<std::uint8_t> bytes;  ///< [panels, groups, panel_rows, 4]
  std::vector<float> scales;        ///< [panels * panel_rows], 0 for the padding of the last panel
  std::vector<float> half_squares;  ///< |row|^2 / 2, same shape
  double error = 0;                 ///< largest distance between a row and its bytes
  double longest = 0;               ///< length of the longest row
};

/// Rows as bytes, for a first pass over all of them. Copies share one storage, which may be a mapped file.
class ByteCodes {
 public:
  ByteCodes(Column<std::uint8_t> bytes, Column<float> scales, Column<float> half_squares, std::size_t panel_size,
            double error, double longest)
      : bytes_(std::move(bytes)),
        scales_(std::move(scales)),
        half_squares_(std::move(half_squares)),
        panel_size_(panel_size),
        error_(error),
        longest_(longest) {}
  explicit ByteCodes(const Vectors& vectors) : ByteCodes(coded(vectors)) {}

  /// Writes sums of products of bytes to dots[query * stride + row], for `count` panels from panel `first` on.
  void dots(std::span<const ByteQuery> queries, std::size_t first, std::size_t count, std::int32_t* dots,
            std::size_t stride) const {
    byte_dots(bytes_(first * panel_size_, count * panel_size_).data(), count, panel_size_ / (panel_rows * 4), queries,
              dots, stride);
  }
  [[nodiscard]] std::size_t panels() const { return scales_.size() / panel_rows; }
  [[nodiscard]] const float* scales(std::size_t panel, std::size_t count) const {
    return scales_(panel * panel_rows, count * panel_rows).data();
  }
  [[nodiscard]] const float* half_squares(std::size_t panel, std::size_t count) const {
    return half_squares_(panel * panel_rows, count * panel_rows).data();
  }
  [[nodiscard]] double error() const { return error_; }      ///< largest distance between a row and its bytes
  [[nodiscard]] double longest() const { return longest_; }  ///< length of the longest row

 private:
  explicit ByteCodes(ByteCoder coder)
      : ByteCodes(Column<std::uint8_t>(std::move(coder.bytes)), Column<float>(std::move(coder.scales)),
                  Column<float>(std::move(coder.half_squares)), coder.panel_size, coder.error, coder.longest) {}
  static ByteCoder coded(const Vectors& vectors) {
    ByteCoder coder(vectors.dimension());
    for (std::size_t i = 0; i < vectors.rows(); ++i) coder.add(vectors.row(i));
    return coder;
  }

  Column<std::uint8_t> bytes_;
  Column<float> scales_, half_squares_;
  std::size_t panel_size_;
  double error_, longest_;
};

}  // namespace espalier::backend::detail
