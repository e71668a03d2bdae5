#pragma once

#include <espalier/core/unicode.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace espalier::backend {

namespace detail {

/// The classes of Unicode's word boundaries (Annex 29) that decide about words.
enum class WordClass : std::uint8_t { other, letter, digit, katakana, single, joiner, mark, mid_letter, mid_digit, mid_both };

inline WordClass word_class(char32_t c) {
  using enum WordClass;
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  switch (c) {
    case '_': case 0x203F: case 0x2040: case 0x2054: case 0xFE33: case 0xFE34: case 0xFE4D: case 0xFE4E: case 0xFE4F: case 0xFF3F:
      return joiner;
    case '.': case '\'': case 0x2018: case 0x2019: case 0x2024: case 0xFE52: case 0xFF07: case 0xFF0E: return mid_both;
    case ':': case 0xB7: case 0x387: case 0x5F4: case 0x2027: case 0xFE13: case 0xFE55: case 0xFF1A: return mid_letter;
    case ',': case ';': case 0x37E: case 0x589: case 0x60C: case 0x60D: case 0x66C: case 0x7F8: case 0x2044: case 0xFE10:
    case 0xFE14: case 0xFE50: case 0xFE54: case 0xFF0C: case 0xFF1B: return mid_digit;
    default: break;
  }
  if (c < 0x80) return c >= '0' && c <= '9' ? digit : is_alnum(c) ? letter : other;
  if (in(0x3005, 0x3007) || in(0x3021, 0x3029) || in(0x3041, 0x309F) || in(0x3400, 0x4DBF) || in(0x4E00, 0x9FFF) ||
      in(0xF900, 0xFAFF) || in(0x20000, 0x3FFFF)) return single;
  if (in(0x30A1, 0x30FA) || in(0x30FC, 0x30FF) || in(0x31F0, 0x31FF) || in(0xFF66, 0xFF9D)) return katakana;
  const std::uint8_t flags = espalier::detail::unicode_flags_of(c);
  if (flags & espalier::detail::flag_decimal) return digit;
  if (flags & espalier::detail::flag_mark) return mark;
  return (flags & espalier::detail::flag_alnum) && !(flags & espalier::detail::flag_figure) ? letter : other;
}

}  // namespace detail

/// The words of a text, close to Lucene's standard tokenizer: letters and digits run on across _, letters across one
/// of . ' : and digits across one of . ' , ; and katakana among themselves; ideographs and hiragana stand alone. No word
/// is longer than 255 code points: what is left begins another.
inline std::vector<std::string_view> standard_words(std::string_view text) {
  using enum detail::WordClass;
  constexpr std::size_t longest = 255;
  std::vector<std::string_view> words;
  const auto alike = [](detail::WordClass a, detail::WordClass b) {
    const bool a_word = a == letter || a == digit, b_word = b == letter || b == digit;
    return (a_word && b_word) || (a == katakana && b == katakana) || (a == joiner && b != single) || b == joiner;
  };
  const auto core = [](detail::WordClass c) { return c == letter || c == digit || c == katakana || c == joiner; };

  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    detail::WordClass last = detail::word_class(decode_utf8(text, i));
    if (!core(last) && last != single) continue;
    bool word = last != joiner;  // underscores alone are none
    std::size_t end = i;
    for (std::size_t length = 1; i < text.size() && length < longest; ++length) {
      const detail::WordClass next = detail::word_class(decode_utf8(text, i));
      if (next == mark) {
        end = i;
      } else if (last != single && core(next) && alike(last, next)) {
        word = word || next != joiner;
        last = next;
        end = i;
      } else if (next == mid_both || (next == mid_letter && last == letter) || (next == mid_digit && last == digit)) {
        std::size_t behind = i;  // joins only if more of the same kind follows
        detail::WordClass after = other;
        do after = behind < text.size() ? detail::word_class(decode_utf8(text, behind)) : other;
        while (after == mark);
        if ((last != letter && last != digit) || after != last) break;
        end = i = behind;
        ++length;
      } else {
        break;
      }
    }
    if (word) words.push_back(text.substr(begin, end - begin));
    i = end;
  }
  return words;
}

}  // namespace espalier::backend
