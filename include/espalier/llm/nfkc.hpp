#pragma once

#include <espalier/llm/unicode.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::detail {

/// Decomposition and composition of Unicode Standard Annex 15. Hangul syllables are computed.
class Normaliser {
 public:
  static const Normaliser& instance() {
    static const Normaliser normaliser;
    return normaliser;
  }

  /// Appends the full compatibility decomposition of c.
  void decompose(char32_t c, std::u32string& out) const {
    if (c < 0xA0) {
      out += c;
    } else if (const char32_t s = c - hangul; s < syllables) {
      out += lead + s / (vowels * trails);
      out += vowel + s / trails % vowels;
      if (s % trails) out += trail + s % trails;
    } else if (const auto targets = steps_(c); !targets.empty()) {
      for (char32_t t : targets) decompose(t, out);
    } else {
      out += c;
    }
  }

  /// Puts the combining marks after each starter into canonical order.
  void order(std::u32string& points) const {
    std::vector<std::uint64_t> marks;  // class, place, code point: sorting gives order of class, then of place
    for (std::size_t i = 0; i <= points.size(); ++i) {
      const std::uint64_t own = i < points.size() ? combining(points[i]) : 0;
      if (own != 0) {
        marks.push_back(own << 56 | std::uint64_t(i) << 21 | points[i]);
      } else if (!marks.empty()) {
        std::sort(marks.begin(), marks.end());
        for (std::size_t k = 0; k < marks.size(); ++k) points[i - marks.size() + k] = marks[k] & 0x1FFFFF;
        marks.clear();
      }
    }
  }

  /// Composes every mark with its starter, unless a mark of the same or a higher class stands between them.
  void compose(std::u32string& points) const {
    std::size_t starter = points.npos, end = 0;
    std::uint8_t between = 0;  // class of the last mark that was kept
    for (char32_t c : points) {
      const std::uint8_t own = combining(c);
      const bool reaches = starter != points.npos && (end == starter + 1 || (between != 0 && between < own));
      if (const char32_t whole = reaches ? pair(points[starter], c) : 0) {
        points[starter] = whole;
        continue;
      }
      if (own == 0) starter = end;
      between = own;
      points[end++] = c;
    }
    points.resize(end);
  }

 private:
  using Pair = std::array<char32_t, 3>;  ///< two code points, and the one that they compose to
  static constexpr char32_t hangul = 0xAC00, lead = 0x1100, vowel = 0x1161, trail = 0x11A7;
  static constexpr char32_t vowels = 21, trails = 28, syllables = 11172;

  Normaliser() : steps_(unicode_decomposition), combining_(unicode_combining) {
    for (const auto& e : steps_.entries())
      if (e.tag & 2) pairs_.push_back({steps_.targets(e)[0], steps_.targets(e)[1], e.from});
    std::sort(pairs_.begin(), pairs_.end());
  }
  std::uint8_t combining(char32_t c) const { return c < 0x300 ? 0 : combining_(c); }

  /// The composition of the two, or 0.
  char32_t pair(char32_t a, char32_t b) const {
    if (a - lead < 19 && b - vowel < vowels) return hangul + ((a - lead) * vowels + (b - vowel)) * trails;
    if (a - hangul < syllables && (a - hangul) % trails == 0 && b - trail - 1 < trails - 1) return a + (b - trail);
    const auto found = std::lower_bound(pairs_.begin(), pairs_.end(), Pair{a, b, 0});
    return found != pairs_.end() && (*found)[0] == a && (*found)[1] == b ? (*found)[2] : 0;
  }

  UnicodeMapping steps_;
  UnicodeProperty combining_;
  std::vector<Pair> pairs_;
};

/// Normalisation form KC: full compatibility decomposition, canonical order, canonical composition. ASCII text is
/// copied unchanged, except the last ASCII character before a non-ASCII one, which may compose with it.
inline std::string nfkc(std::string_view text) {
  std::string out;
  std::u32string points;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t other = i + ascii_prefix(text.substr(i));
    const std::size_t begin = other < text.size() && other > i ? other - 1 : other;
    out += text.substr(i, begin - i);
    if (i = begin; i == text.size()) break;
    const auto& normaliser = detail::Normaliser::instance();
    points.clear();
    do normaliser.decompose(decode_utf8(text, i), points);
    while (i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80);
    normaliser.order(points);
    normaliser.compose(points);
    for (char32_t c : points) append_utf8(out, c);
  }
  return out;
}

}  // namespace espalier::detail
