#pragma once

#include <espalier/core/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace espalier {

/// The text as one line that a terminal may show. Control characters, line ends and format characters that hide or
/// reorder text become escapes as in C, with a backslash. Bytes that are not UTF-8 become U+FFFD.
inline std::string one_line(std::string_view text) {
  static constexpr std::pair<char32_t, char32_t> unseen[] = {
      {0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x200B, 0x200F},
      {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = detail::decode_utf8(text, i);
    const auto holds = [c](const auto& range) { return range.first <= c && c <= range.second; };
    if (std::ranges::none_of(unseen, holds)) detail::append_utf8(out, c);
    else if (c == U'\n') out += "\\n";
    else if (c == U'\r') out += "\\r";
    else if (c == U'\t') out += "\\t";
    else if (c < 0x100) fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(c));
    else if (c < 0x10000) fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    else fmt::format_to(std::back_inserter(out), "\\U{:08x}", static_cast<unsigned>(c));
  }
  return out;
}

namespace detail {

/// At most `most` bytes of the first line that is not blank, as one_line() shows it. " ..." says that there is more.
inline std::string first_line(std::string_view text, std::size_t most) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  text = text.substr(begin, end + 1 - begin);
  std::size_t size = std::min({text.size(), text.find_first_of("\r\n"), most});
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;  // no half character
  if (size < text.size()) size = text.substr(0, size).find_last_not_of(' ') + 1;
  return one_line(text.substr(0, size)) + (size < text.size() ? " ..." : "");
}

/// A formatter that takes the specifications of a text, such as a width. `describe` makes the text.
template <auto describe>
struct Described : fmt::formatter<std::string_view> {
  auto format(const auto& value, auto& context) const {
    return fmt::formatter<std::string_view>::format(describe(value), context);
  }
};

}  // namespace detail

}  // namespace espalier
