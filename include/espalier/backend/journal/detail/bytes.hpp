#pragma once

#include <espalier/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend::detail {

/// Appends fields as bytes: numbers little-endian, floating point by its bits, strings with a 32-bit length in front.
class ByteWriter {
 public:
  ByteWriter& add(std::unsigned_integral auto number) {
    char bytes[sizeof number];
    for (std::size_t i = 0; i < sizeof number; ++i)
      bytes[i] = static_cast<char>((std::uint64_t(number) >> (8 * i)) & 0xff);
    bytes_.append(bytes, sizeof number);
    return *this;
  }
  ByteWriter& add(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return add(bits);
  }
  ByteWriter& add(float number) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return add(bits);
  }
  ByteWriter& add(std::string_view text) {
    add_count(text.size());
    bytes_ += text;
    return *this;
  }
  ByteWriter& add_count(std::size_t count) {
    if (count > UINT32_MAX) throw Error("a response is too large to be stored: " + std::to_string(count) + " items");
    return add(static_cast<std::uint32_t>(count));
  }
  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the same fields back. Throws Error if the bytes end too early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T take() {
    const std::string_view bytes = take_bytes(sizeof(T));
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      number |= std::uint64_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return static_cast<T>(number);
  }
  double take_double() {
    const auto bits = take<std::uint64_t>();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  float take_float() {
    const auto bits = take<std::uint32_t>();
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  std::string take_string() { return std::string(take_bytes(take<std::uint32_t>())); }
  /// Reads a number of items of at least `least` bytes each. So a damaged count cannot request more memory than there
  /// are bytes.
  std::size_t take_count(std::size_t least) {
    const auto count = take<std::uint32_t>();
    if (count > rest_.size() / least) throw Error("the record ends too early");
    return count;
  }
  void finish() const {
    if (!rest_.empty()) throw Error("the record has " + std::to_string(rest_.size()) + " bytes too many");
  }

 private:
  std::string_view take_bytes(std::size_t size) {
    if (size > rest_.size()) throw Error("the record ends too early");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
};

}  // namespace espalier::backend::detail
