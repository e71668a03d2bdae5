#pragma once

#include <espalier/llm/unicode.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace espalier::backend::detail {

/// The classes of Unicode's word boundaries (Annex 29) that matter for words.
enum class WordClass { other, letter, digit, katakana, single, joiner, mark, mid_letter, mid_digit, mid };

inline WordClass word_class(char32_t c) {
  using enum WordClass;
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  const auto among = [c](std::u32string_view set) { return set.find(c) != set.npos; };
  if (c < 0x80 && espalier::detail::is_alnum(c)) return c <= '9' ? digit : letter;
  if (among(U"_\u203F\u2040\u2054\uFE33\uFE34\uFE4D\uFE4E\uFE4F\uFF3F")) return joiner;
  if (among(U".'\u2018\u2019\u2024\uFE52\uFF07\uFF0E")) return mid;
  if (among(U":\u00B7\u0387\u05F4\u2027\uFE13\uFE55\uFF1A")) return mid_letter;
  if (among(U",;\u037E\u0589\u060C\u060D\u066C\u07F8\u2044\uFE10\uFE14\uFE50\uFE54\uFF0C\uFF1B")) return mid_digit;
  if (in(0x3005, 0x3007) || in(0x3021, 0x3029) || in(0x3041, 0x309F) || in(0x3400, 0x4DBF) || in(0x4E00, 0x9FFF) ||
      in(0xF900, 0xFAFF) || in(0x20000, 0x3FFFF))
    return single;
  if (in(0x30A1, 0x30FA) || in(0x30FC, 0x30FF) || in(0x31F0, 0x31FF) || in(0xFF66, 0xFF9D)) return katakana;
  const std::uint8_t flags = espalier::detail::unicode_flags_of(c);
  if (flags & espalier::detail::flag_decimal) return digit;
  if (flags & espalier::detail::flag_mark) return mark;
  return (flags & espalier::detail::flag_alnum) && !(flags & espalier::detail::flag_figure) ? letter : other;
}

/// The words of a text, close to Lucene's standard tokenizer. Letters and digits continue across _. Letters continue
/// across one of . ' : and digits across one of . ' , or a semicolon. Katakana continues with katakana. Ideographs and
/// hiragana are single words. A word has at most 255 code points, and the rest begins another word.
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
    detail::WordClass last = detail::word_class(espalier::detail::decode_utf8(text, i));
    if (!core(last) && last != single) continue;
    bool word = last != joiner;  // underscores alone are not a word
    std::size_t end = i;
    for (std::size_t length = 1; i < text.size() && length < longest; ++length) {
      const detail::WordClass next = detail::word_class(espalier::detail::decode_utf8(text, i));
      if (next == mark) {
        end = i;
      } else if (last != single && core(next) && alike(last, next)) {
        word = word || next != joiner;
        last = next;
        end = i;
      } else if (next == mid || (next == mid_letter && last == letter) || (next == mid_digit && last == digit)) {
        std::size_t behind = i;  // joins only if more of the same kind follows
        detail::WordClass after = other;
        do after = behind < text.size() ? detail::word_class(espalier::detail::decode_utf8(text, behind)) : other;
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

}  // namespace espalier::backend::detail
