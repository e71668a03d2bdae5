#pragma once

#include <espalier/version.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace espalier {

namespace detail {

/// One output of splitmix64, a bijective mixer of 64 bits.
constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace detail

/// A 128-bit hash of bytes, for keys of requests and fingerprints of indexes and files. Equal on every platform.
struct Hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr bool operator==(const Hash&, const Hash&) = default;
  friend constexpr auto operator<=>(const Hash&, const Hash&) = default;

  /// 32 lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(32, '0');
    for (std::size_t i = 0; i < 16; ++i) {
      text[15 - i] = digits[(high >> (4 * i)) & 15];
      text[31 - i] = digits[(low >> (4 * i)) & 15];
    }
    return text;
  }
};

/// Feeds typed fields into a Hash. Each text carries its length, so ("ab","c") and ("a","bc") differ.
class Hasher {
 public:
  Hasher& add(std::uint64_t word) noexcept {
    a_ = detail::mix64(a_ ^ word) + 0x632be59bd9b4e019ULL;
    b_ = detail::mix64((b_ + word) * 0x9fb21c651e98df25ULL ^ a_);
    return *this;
  }
  Hasher& add(std::string_view bytes) noexcept {
    add(static_cast<std::uint64_t>(bytes.size()));
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) add(word_at(bytes.data() + i, 8));
    if (i < bytes.size()) add(word_at(bytes.data() + i, bytes.size() - i));
    return *this;
  }
  Hasher& add(double number) noexcept {
    std::uint64_t bits = 0;
    number += 0.0;  // -0.0 and 0.0 are one number
    std::memcpy(&bits, &number, sizeof bits);
    return add(bits);
  }
  Hasher& add(Hash h) noexcept { return add(h.high).add(h.low); }
  [[nodiscard]] Hash finish() const noexcept { return {detail::mix64(a_ ^ (b_ >> 1)), detail::mix64(b_ + a_)}; }

 private:
  static std::uint64_t word_at(const char* p, std::size_t n) noexcept {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < n; ++i) word |= std::uint64_t(static_cast<unsigned char>(p[i])) << (8 * i);
    return word;
  }
  std::uint64_t a_ = 0x243f6a8885a308d3ULL;
  std::uint64_t b_ = 0x13198a2e03707344ULL;
};

}  // namespace espalier

template <>
struct std::hash<espalier::Hash> {
  std::size_t operator()(const espalier::Hash& h) const noexcept { return static_cast<std::size_t>(h.low); }
};
