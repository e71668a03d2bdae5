#pragma once

#include <espalier/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace espalier::detail {

/// Length of the well-formed UTF-8 sequence at `text[i]`, or 0.
inline std::size_t utf8_sequence(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
  const auto tail = [&](std::size_t k) { return i + k < text.size() && (byte(k) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;  // overlong, surrogates
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

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

}  // namespace espalier::detail
