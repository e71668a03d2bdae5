#pragma once

#include <espalier/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::detail {

#include <espalier/llm/detail/unicode_data.inc>

/// Reads one stream of unicode_data.inc. tools/make_unicode.py describes the format.
class UnicodeStream {
 public:
  explicit UnicodeStream(std::string_view packed) {
    for (std::size_t i = 0; i < packed.size(); ++i) {
      const std::size_t length = repeats.find(packed[i]);
      if (length == repeats.npos) {
        text_ += packed[i];
        continue;
      }
      const std::size_t back = 64 * digits.find(packed[i + 1]) + digits.find(packed[i + 2]);
      for (std::size_t k = 0; k < length + 4; ++k) text_ += text_[text_.size() - back];
      i += 2;
    }
  }
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
  static constexpr std::string_view repeats = "!#$%&'()*,-.:;<=>@[]^_`{|}~";
  std::string text_;
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
      const std::uint32_t step = in.number(), shape = in.number();
      for (std::uint32_t alike = shape & 4 ? in.number() + 2 : 1; alike > 0; --alike) {
        from += step;
        entries_.push_back({from, static_cast<std::uint16_t>(targets_.size()), static_cast<std::uint8_t>(shape >> 3),
                            static_cast<std::uint8_t>(shape & 3)});
        targets_ += static_cast<char32_t>(from + (difference += in.signed_number()));
        for (std::uint32_t k = 1; k < shape >> 3; ++k) targets_ += static_cast<char32_t>(0x300 + in.signed_number());
      }
    }
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::u32string_view targets(const Entry& e) const { return {targets_.data() + e.begin, e.length}; }
  /// The targets of c, empty if it does not change.
  std::u32string_view operator()(char32_t c) const {
    const auto less = [](const Entry& entry, char32_t point) { return entry.from < point; };
    const auto e = std::lower_bound(entries_.begin(), entries_.end(), c, less);
    return e != entries_.end() && e->from == c ? targets(*e) : std::u32string_view();
  }

 private:
  std::vector<Entry> entries_;
  std::u32string targets_;
};

enum UnicodeFlag : std::uint8_t {
  flag_alnum = 1,
  flag_mark = 2,  ///< M* and Cf: belongs to the preceding character
  flag_cased = 4,
  flag_ignorable = 8,
  flag_figure = 16,  ///< No: superscripts, fractions
  flag_space = 32,
  flag_decimal = 64  ///< category Nd
};

inline std::uint8_t unicode_flags_of(char32_t c) {
  static const UnicodeProperty flags(unicode_flags);
  return flags(c);
}

inline void append_ascii_lower(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out += text;
  for (char& c : std::span(out).subspan(begin)) c = static_cast<char>(c | (c >= 'A' && c <= 'Z') << 5);
}

/// Applies mapping(code point) -> what takes its place, empty = itself. ASCII letters become lower case.
std::string mapped(std::string_view text, const auto& mapping) {
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

/// Python's str.isalnum.
inline bool is_alnum(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  return unicode_flags_of(c) & flag_alnum;
}
/// A word character: `\w` of Python's regular expressions.
inline bool is_word(char32_t c) { return c == '_' || is_alnum(c); }
/// What Python's str.split splits at.
inline bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return unicode_flags_of(c) & flag_space;
}

inline const UnicodeMapping& lower_case() {
  static const UnicodeMapping lower(unicode_lower);
  return lower;
}
/// Python's str.lower: full mappings (a dotted capital I becomes two code points) and the final sigma.
inline std::string to_lower(std::string_view text) {
  const UnicodeMapping& lower = lower_case();
  std::string out = mapped(text, lower);
  if (text.find("\xCE\xA3") == text.npos) return out;
  // Final sigma: of the letters that case does not ignore, the one before it is cased and the one behind it is not.
  const std::u32string points = decode_utf8(text);
  const auto cased = [&](std::size_t at, std::size_t step) {  // -1 behind 0 is no place in the text
    do at += step;
    while (at < points.size() && (unicode_flags_of(points[at]) & flag_ignorable));
    return at < points.size() && (unicode_flags_of(points[at]) & flag_cased);
  };
  out.clear();
  for (std::size_t at = 0; at < points.size(); ++at) {
    const auto targets = lower(points[at]);
    if (points[at] == U'\u03A3' && cased(at, std::size_t(-1)) && !cased(at, 1)) out += "\xCF\x82";
    else if (targets.empty()) append_utf8(out, points[at]);
    else
      for (char32_t t : targets) append_utf8(out, t);
  }
  return out;
}

/// Python's str.casefold.
inline std::string casefold(std::string_view text) {
  static const UnicodeMapping fold(unicode_fold);  // what differs from lower case
  return mapped(text, [&](char32_t c) {
    const auto targets = fold(c);
    return targets.empty() ? lower_case()(c) : targets;
  });
}

}  // namespace espalier::detail
