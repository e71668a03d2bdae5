#pragma once

#include <array>
#include <string>
#include <string_view>

namespace espalier::method::baselines::detail {

/// The first sentence of a text. A full stop ends it if white space and then no lower-case letter follow. It does not
/// end at initials, titles and words with inner full stops: "U.S. Steel", "St. Louis" and "J. R. Smith" stay whole.
inline std::string first_sentence(std::string_view text) {
  constexpr std::array<std::string_view, 10> titles{"Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Gen", "Col", "Jr", "No"};
  const auto blank = [&](std::size_t i) {
    return i >= text.size() || std::string_view(" \t\r\n").find(text[i]) != std::string_view::npos;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return std::string(text.substr(0, i));
    if ((text[i] != '.' && text[i] != '!' && text[i] != '?') || !blank(i + 1)) continue;
    std::size_t next = i + 1;
    while (next < text.size() && blank(next)) ++next;
    if (next < text.size() && text[next] >= 'a' && text[next] <= 'z') continue;
    std::size_t begin = i;
    while (begin > 0 && !blank(begin - 1)) --begin;
    const std::string_view word = text.substr(begin, i - begin);
    const bool initial = word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z';
    bool title = word.find('.') != std::string_view::npos;
    for (const std::string_view known : titles) title = title || word == known;
    if (text[i] == '.' && next < text.size() && (initial || title)) continue;
    return std::string(text.substr(0, i + 1));
  }
  return std::string(text);
}

}  // namespace espalier::method::baselines::detail
