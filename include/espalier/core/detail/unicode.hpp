#pragma once

#include <espalier/core/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::detail {

// --- UTF-8 ---------------------------------------------------------------------------------------------------------

/// Returns the code point at `text[i]` (i < size) and moves i behind it. A byte that is not valid UTF-8 gives U+FFFD.
inline char32_t decode_utf8(std::string_view text, std::size_t& i) {
  const std::size_t length = utf8_sequence(text, i);
  const auto lead = static_cast<unsigned char>(text[i]);
  char32_t c = length == 1 ? lead : length == 0 ? U'\uFFFD' : static_cast<char32_t>(lead & (0xFFu >> (length + 1)));
  for (std::size_t k = 1; k < length; ++k) c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
  i += length ? length : 1;
  return c;
}

/// Appends a code point as UTF-8. A surrogate or a number above U+10FFFF becomes U+FFFD.
inline void append_utf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = U'\uFFFD';
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6)), tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0);
  }
}

inline std::u32string decode_utf8(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) points += decode_utf8(text, i);
  return points;
}

inline std::string encode_utf8(std::u32string_view points) {
  std::string text;
  text.reserve(points.size());
  for (char32_t c : points) append_utf8(text, c);
  return text;
}

/// The number of ASCII bytes at the beginning.
inline std::size_t ascii_prefix(std::string_view text) {
  std::size_t i = 0;
  for (std::uint64_t word = 0; i + 8 <= text.size(); i += 8) {
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i;
}
inline bool is_ascii(std::string_view text) { return ascii_prefix(text) == text.size(); }

// --- The Unicode tables, unpacked at first use ----------------------------------------------------------------------

#include <espalier/core/detail/unicode_data.inc>

/// Reads one stream of unicode_data.inc. tools/make_unicode.py describes the format.
class UnicodeStream {
 public:
  explicit UnicodeStream(std::string_view text) : text_(text) {}
  [[nodiscard]] bool done() const { return i_ == text_.size(); }
  std::uint32_t number() {
    std::uint32_t n = 0, digit = 32;
    for (unsigned shift = 0; digit & 32; shift += 5) {
      digit = static_cast<std::uint32_t>(digits.find(text_[i_++]));
      n |= (digit & 31) << shift;
    }
    return n;
  }
  std::uint32_t signed_number() {  // modulo 2^32
    const std::uint32_t n = number();
    return n & 1 ? ~(n >> 1) : n >> 1;
  }

 private:
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string_view text_;
  std::size_t i_ = 0;
};

/// A small number for every code point, 0 by default.
class UnicodeProperty {
 public:
  explicit UnicodeProperty(std::string_view packed) {
    std::uint32_t at = 0;
    for (UnicodeStream in(packed); !in.done();) {
      ends_.push_back(at += in.number());
      values_.push_back(static_cast<std::uint8_t>(in.number()));
    }
    values_.push_back(0);
  }
  std::uint8_t operator()(char32_t c) const {
    return values_[static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), c) - ends_.begin())];
  }

 private:
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint8_t> values_;
};

/// Maps some code points to others, with a tag.
class UnicodeMapping {
 public:
  struct Entry {
    char32_t from;
    std::uint16_t begin;
    std::uint8_t length, tag;
  };
  explicit UnicodeMapping(std::string_view packed) {
    std::uint32_t from = 0, difference = 0;
    for (UnicodeStream in(packed); !in.done();) {
      from += in.number();
      const std::uint32_t shape = in.number();
      entries_.push_back({from, static_cast<std::uint16_t>(targets_.size()), static_cast<std::uint8_t>(shape >> 3),
                          static_cast<std::uint8_t>(shape & 7)});
      targets_ += static_cast<char32_t>(from + (difference += in.signed_number()));
      for (std::uint32_t k = 1; k < shape >> 3; ++k) targets_ += static_cast<char32_t>(0x300 + in.signed_number());
    }
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::u32string_view targets(const Entry& e) const { return {targets_.data() + e.begin, e.length}; }
  /// The targets of c, empty if it does not change.
  std::u32string_view operator()(char32_t c) const {
    const auto e =
        std::lower_bound(entries_.begin(), entries_.end(), c, [](const Entry& a, char32_t b) { return a.from < b; });
    return e != entries_.end() && e->from == c ? targets(*e) : std::u32string_view();
  }

 private:
  std::vector<Entry> entries_;
  std::u32string targets_;
};

enum UnicodeFlag : std::uint8_t {
  flag_alnum = 1,
  flag_space = 2,
  flag_cased = 4,
  flag_ignorable = 8,
  flag_decimal = 16,  ///< category Nd
  flag_mark = 32,     ///< M* and Cf: belongs to the preceding character
  flag_figure = 64    ///< No: superscripts, fractions
};

inline std::uint8_t unicode_flags_of(char32_t c) {
  static const UnicodeProperty flags(unicode_flags);
  return flags(c);
}

/// Appends a text with its ASCII letters in lower case.
inline void append_ascii_lower(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out += text;
  char* at = out.data() + begin;
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {  // eight at once: the top bit of a byte says whether it is a capital letter
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const std::uint64_t from_a = word + 0x3f3f3f3f3f3f3f3f, behind_z = word + 0x2525252525252525;
    word |= ((from_a ^ behind_z) & 0x8080808080808080) >> 2;
    std::memcpy(at, &word, 8);
  }
  for (; left > 0; --left, ++at)
    if (*at >= 'A' && *at <= 'Z') *at = static_cast<char>(*at + ('a' - 'A'));
}

/// Applies a mapping. ASCII letters become lower case.
inline std::string mapped(std::string_view text, const UnicodeMapping& mapping) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t plain = ascii_prefix(text.substr(i));
    append_ascii_lower(out, text.substr(i, plain));
    i += plain;
    while (i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80) {
      const char32_t c = decode_utf8(text, i);
      const auto targets = mapping(c);
      if (targets.empty()) append_utf8(out, c);
      for (char32_t t : targets) append_utf8(out, t);
    }
  }
  return out;
}

// --- Classes of code points, as Python has them ----------------------------------------------------------------------

/// Python's str.isalnum.
inline bool is_alnum(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  return detail::unicode_flags_of(c) & detail::flag_alnum;
}
/// A word character: `\w` of Python's regular expressions.
inline bool is_word(char32_t c) { return c == '_' || is_alnum(c); }
/// What Python's str.split splits at.
inline bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return detail::unicode_flags_of(c) & detail::flag_space;
}

// --- Case -----------------------------------------------------------------------------------------------------------

/// Python's str.lower: full mappings (a dotted capital I becomes two code points) and the final sigma.
inline std::string to_lower(std::string_view text) {
  static const detail::UnicodeMapping lower(detail::unicode_lower);
  std::string out = detail::mapped(text, lower);
  if (text.find("\xCE\xA3") == text.npos) return out;
  // Final sigma: of the letters that case does not ignore, the one before it is cased and the one behind it is not.
  const std::u32string points = decode_utf8(text);
  const auto cased = [](auto from, auto to) {
    while (from != to && (detail::unicode_flags_of(*from) & detail::flag_ignorable)) ++from;
    return from != to && (detail::unicode_flags_of(*from) & detail::flag_cased);
  };
  out.clear();
  for (auto at = points.begin(); at != points.end(); ++at) {
    const auto targets = lower(*at);
    if (*at == U'\u03A3' && cased(std::make_reverse_iterator(at), points.rend()) && !cased(at + 1, points.end()))
      out += "\xCF\x82";
    else if (targets.empty()) append_utf8(out, *at);
    else
      for (char32_t t : targets) append_utf8(out, t);
  }
  return out;
}

/// Python's str.casefold.
inline std::string casefold(std::string_view text) {
  static const detail::UnicodeMapping fold(detail::unicode_fold);
  return detail::mapped(text, fold);
}

}  // namespace espalier::detail
