#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace espalier::backend::detail {

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

}  // namespace espalier::backend::detail
