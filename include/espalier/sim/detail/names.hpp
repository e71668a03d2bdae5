#pragma once

#include <espalier/core/hash.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::sim::detail {

/// A pseudo-random permutation of [0, size), the same on every platform. index < size <= 2^62.
inline std::uint64_t permute(std::uint64_t index, std::uint64_t size, std::uint64_t key) {
  unsigned half = 1;
  while ((std::uint64_t(1) << (2 * half)) < size) ++half;
  const std::uint64_t mask = (std::uint64_t(1) << half) - 1;
  do {  // a Feistel network over 2 * half bits, repeated until the result is below size
    std::uint64_t left = index >> half, right = index & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (espalier::detail::mix64(right ^ espalier::detail::mix64(key + round)) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

/// A pronounceable word of consonant-vowel syllables with a consonant at the end. One-to-one in index for a fixed
/// number of syllables, index < 80^syllables * 8.
inline std::string word(std::uint64_t index, unsigned syllables) {
  static constexpr std::array<std::string_view, 16> onsets = {"b", "d", "f", "g", "k", "l", "m",  "n",
                                                              "p", "r", "s", "t", "v", "z", "br", "th"};
  static constexpr std::string_view vowels = "aeiou";
  static constexpr std::string_view codas = "lmnrstkd";
  std::string text;
  for (unsigned i = 0; i < syllables; ++i, index /= 80) {
    text += onsets[index % 80 / 5];
    text += vowels[index % 5];
  }
  text += codas[index % 8];
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// The number of words with two syllables.
inline constexpr std::uint64_t words_of_two = 80 * 80 * 8;

/// Unique names of one kind of entity. A name is a stem and one of a few affixes, so stems repeat and most names have
/// near-duplicates. A pure function of (ordinal, count, key).
class NameSpace {
 public:
  NameSpace(std::uint64_t count, std::uint64_t affixes, std::uint64_t stem_share, std::uint64_t key)
      : affixes_(affixes), stems_(count / stem_share + 8), syllables_(stems_ <= 20'000 ? 2 : 3), key_(key) {
    while (stems_ * affixes_ < count) stems_ *= 2;
  }
  struct Parts {
    std::string stem;
    std::uint64_t affix;
  };
  [[nodiscard]] Parts parts(std::uint64_t ordinal) const {
    const std::uint64_t place = permute(ordinal, stems_ * affixes_, key_);
    const std::uint64_t words = syllables_ == 2 ? words_of_two : words_of_two * 80;
    return {word(permute(place / affixes_, words, key_ + 1), syllables_), place % affixes_};
  }

 private:
  std::uint64_t affixes_, stems_;
  unsigned syllables_;
  std::uint64_t key_;
};

}  // namespace espalier::sim::detail
