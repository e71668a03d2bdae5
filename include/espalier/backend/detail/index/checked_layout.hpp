#pragma once

#include <espalier/core/hash.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace espalier::backend::detail {

/// One named section of a checked file. It begins at a multiple of 64 bytes.
struct CheckedSection {
  char name[24];         ///< padded with zeros
  std::uint64_t offset;  ///< from the end of the header
  std::uint64_t size;
};

/// The first 4,096 bytes of a checked file. Then come the sections, cut into blocks of 64 KiB across their borders, and
/// one checksum per block. All numbers are little-endian.
struct CheckedHeader {
  static constexpr std::size_t most_sections = 100;
  static constexpr std::uint32_t this_layout = 1;

  char magic[8];               ///< "espalier"
  std::uint32_t layout;        ///< of this header
  std::uint32_t version;       ///< of the sections' content
  char kind[16];               ///< kind of file, padded with zeros
  std::uint64_t file_size;     ///< header, sections and checksums
  std::uint64_t payload_size;  ///< bytes of all sections, with the padding between them
  std::uint64_t checksums;     ///< checksum of the checksums
  std::uint64_t sections;      ///< how many there are
  CheckedSection section[most_sections];
  char unused[24];
  std::uint64_t checksum;  ///< of all bytes before it
};
static_assert(sizeof(CheckedHeader) == 4096 && std::endian::native == std::endian::little);

inline constexpr std::size_t checked_block = std::size_t(1) << 16;

/// The text of a name field, without its padding.
template <std::size_t N>
std::string checked_name(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

/// A checksum of bytes at a place. A change within eight aligned bytes is always seen. Any other change is missed with
/// probability 2^-64. It reads 32 bytes per step.
inline std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t place) noexcept {
  std::array<std::uint64_t, 4> lanes{0x9ae16a3b2f90404fULL, 0xc3a5c85c97cb3127ULL, 0xb492b66fbe98f273ULL,
                                     0x9ddfea08eb382d69ULL};
  const auto step = [&](const std::byte* at, std::size_t size) {  // one-to-one in every word and in every lane
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), at, size);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = (std::rotl(lanes[i], 23) ^ words[i]) * 0x9fb21c651e98df25ULL;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) step(bytes.data() + at, 32);
  if (at < bytes.size()) step(bytes.data() + at, bytes.size() - at);
  std::uint64_t sum = espalier::detail::mix64(place) ^ espalier::detail::mix64(bytes.size());
  for (const std::uint64_t lane : lanes) sum = espalier::detail::mix64(sum ^ lane);
  return sum;
}

}  // namespace espalier::backend::detail
