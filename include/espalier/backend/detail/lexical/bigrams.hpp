#pragma once

#include <espalier/core/utf8.hpp>
#include <espalier/llm/unicode.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

/// Words of scripts that are written without spaces.
namespace espalier::backend::detail {

/// A letter of a script whose words do not end at spaces: Thai, Lao, Tibetan, Burmese, Hangul, Khmer, Tai scripts,
/// Kana, Bopomofo, Han, Yi, Javanese, and what stands among them in Unicode's planes 1 to 3.
inline bool is_unspaced(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0xE00, 0x109F},  {0x1100, 0x11FF}, {0x1780, 0x17FF}, {0x1950, 0x1B7F},   {0x3005, 0xA4CF},  {0xA960, 0xA9FF},
      {0xAA60, 0xAADF}, {0xAC00, 0xD7FF}, {0xF900, 0xFAFF}, {0x16FE0, 0x1B2FF}, {0x20000, 0x3FFFF}};
  if (c < ranges[0].first) return false;
  const auto range = std::ranges::find_if(ranges, [c](const auto& r) { return c <= r.second; });
  return range != std::end(ranges) && c >= range->first && espalier::detail::is_alnum(c) &&
         !(espalier::detail::unicode_flags_of(c) & espalier::detail::flag_decimal);
}

/// Adds the bigrams of the unspaced letters from i on, each with its marks. Returns the place behind them. What is not
/// seen (variation selectors, spaces without width) does not count.
std::size_t add_bigrams(std::string_view text, std::size_t i, auto& terms) {
  std::string before, last;
  for (std::size_t next = i, letters = 0; next < text.size(); i = next) {
    const char32_t c = espalier::detail::decode_utf8(text, next);
    if (is_unspaced(c)) {
      if (letters++ > 1) terms.add(before + last);
      before = std::exchange(last, text.substr(i, next - i));
    } else if (espalier::detail::unicode_flags_of(c) & espalier::detail::flag_mark) {
      const bool unseen = c == 0xAD || (c >= 0x2000 && c < 0x2070) || (c >= 0xFE00 && c < 0xFE10) || c == 0xFEFF ||
                          (c >= 0xE0000 && c < 0xE01F0);
      if (!unseen) last += text.substr(i, next - i);
    } else {
      break;
    }
  }
  terms.add(before + last);
  return i;
}

/// The number of longest runs of letters and digits.
inline std::size_t runs(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0, inside = 0; i < text.size();) {
    const bool word = espalier::detail::is_alnum(espalier::detail::decode_utf8(text, i));
    count += word && !inside;
    inside = word;
  }
  return count;
}

}  // namespace espalier::backend::detail
