#pragma once

#include <espalier/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace espalier::backend::detail {

inline constexpr std::size_t packed_numbers = 128;
using PackedNumbers = std::array<std::uint32_t, packed_numbers>;

/// The number of bits of the largest number, 0 to 32.
inline unsigned bits_for(const PackedNumbers& numbers) {
  std::uint32_t all = 0;
  for (std::uint32_t n : numbers) all |= n;
  return static_cast<unsigned>(std::bit_width(all));
}

/// Appends 16 * bits bytes. Number i is in lane i % 4 of four 32-bit words, after number i - 4: four unpack at once.
inline void pack(const PackedNumbers& numbers, unsigned bits, std::string& out) {
  std::array<std::uint64_t, 4> open{};  // bits of each lane that do not fill a word yet
  unsigned filled = 0;
  for (std::size_t i = 0; i < packed_numbers; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) open[lane] |= std::uint64_t(numbers[i + lane]) << filled;
    for (filled += bits; filled >= 32; filled -= 32) {
      for (std::uint64_t& lane : open) {
        for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>((lane >> shift) & 0xff);
        lane >>= 32;
      }
    }
  }
}

/// The numbers that pack() wrote into 16 * bits bytes.
inline void unpack(const std::byte* in, unsigned bits, PackedNumbers& numbers) {
  if (bits == 0) return numbers.fill(0);
  const std::uint32_t mask = 0xffffffffu >> (32 - bits);
  for (std::size_t row = 0, bit = 0; row < packed_numbers / 4; ++row, bit += bits) {
    const std::size_t word = bit / 32, next = std::min<std::size_t>(word + 1, bits - 1);
    const unsigned shift = bit % 32;
    std::array<std::uint32_t, 4> low, high;
    std::memcpy(low.data(), in + 16 * word, 16);
    std::memcpy(high.data(), in + 16 * next, 16);
    for (std::size_t lane = 0; lane < 4; ++lane)  // two shifts, because a shift by 32 is undefined
      numbers[4 * row + lane] = (low[lane] >> shift | high[lane] << 1 << (31 - shift)) & mask;
  }
}

/// Appends a number, seven bits per byte. The eighth bit says that more follow.
inline void put_number(std::string& out, std::uint64_t n) {
  for (; n >= 128; n >>= 7) out += static_cast<char>(n | 128);
  out += static_cast<char>(n);
}

/// Reads from the front what put_number() wrote. Throws Error if the bytes end too early.
inline std::uint64_t take_number(std::span<const std::byte>& bytes) {
  std::uint64_t n = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    n |= (byte & 127) << shift;
    if (byte < 128) return n;
  }
  throw Error("an index holds a number without an end");
}

/// One passage that has a term, and its count.
struct Posting {
  std::uint32_t passage;  ///< position in the corpus
  std::uint32_t count;    ///< 1 or more
};

/// Appends a posting after one of passage `before` (before the first: -1 = 2^32 - 1).
inline void put_posting(std::string& out, std::uint32_t before, Posting p) {
  put_number(out, std::uint64_t(p.passage - before - 1) << 1 | (p.count == 1));
  if (p.count != 1) put_number(out, p.count);
}

/// Reads what put_posting() wrote. Throws Error unless the passage is below `passages`.
inline Posting take_posting(std::span<const std::byte>& bytes, std::uint32_t before, std::uint32_t passages) {
  const std::uint64_t gap = take_number(bytes), count = gap & 1 ? 1 : take_number(bytes);
  const std::uint64_t passage = std::uint64_t(std::uint32_t(before + 1)) + (gap >> 1);
  if (passage >= passages || count == 0 || count > 0xffffffffu) throw Error("an index holds a posting that cannot be");
  return {static_cast<std::uint32_t>(passage), static_cast<std::uint32_t>(count)};
}

}  // namespace espalier::backend::detail
