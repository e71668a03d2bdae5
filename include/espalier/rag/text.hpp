#pragma once

#include <espalier/llm/unicode.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::rag {

namespace detail {

/// The parts between white space, none of them empty, like Python's str.split().
inline std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    if (!espalier::detail::is_space(espalier::detail::decode_utf8(text, i))) continue;
    if (at > begin) parts.push_back(text.substr(begin, at - begin));
    begin = i;
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

/// The text without white space at both ends, like Python's str.strip().
inline std::string_view strip(std::string_view text) {
  const auto parts = split(text);
  if (parts.empty()) return {};
  const char* const begin = parts.front().data();
  return {begin, static_cast<std::size_t>(parts.back().data() + parts.back().size() - begin)};
}

/// Replaces every run of white space by one blank and removes it at both ends.
inline std::string join_blanks(std::string_view text) {
  std::string out;
  for (std::string_view part : split(text)) {
    if (!out.empty()) out += ' ';
    out += part;
  }
  return out;
}

/// Python's string.punctuation: 32 ASCII characters.
inline bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

inline std::string delete_punctuation(std::string text) {
  std::erase_if(text, is_punctuation);
  return text;
}

/// Replaces each of `words` by `by` where it is a whole run of word characters. Words are lower-case ASCII.
inline std::string replace_words(std::string_view text, std::initializer_list<std::string_view> words,
                                 std::string_view by) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    std::size_t end = i;  // of the run of word characters at begin
    while (i < text.size() && espalier::detail::is_word(espalier::detail::decode_utf8(text, i))) end = i;
    const std::string_view run = text.substr(begin, end - begin);
    bool replaced = false;
    for (std::string_view word : words) replaced = replaced || run == word;
    out += replaced ? by : run;
    out += text.substr(end, i - end);  // the character that ended the run
  }
  return out;
}

}  // namespace detail

/// The normal form of an answer in SQuAD, HotpotQA, 2WikiMultiHopQA, MuSiQue, FlashRAG and Search-R1. The steps are:
/// lower case, 32 ASCII punctuation marks deleted, the words a, an and the replaced by a blank, blanks joined. So
/// "U.S." is "us" and "1,000" is "1000". Curly quotes, long dashes, accents and full-width forms stay.
inline std::string normalise(std::string_view text) {
  return detail::join_blanks(
      detail::replace_words(detail::delete_punctuation(espalier::detail::to_lower(text)), {"a", "an", "the"}, " "));
}

namespace detail {

/// In lower case, without white space at the ends.
inline std::string as_it_stands(std::string_view text) { return std::string(strip(espalier::detail::to_lower(text))); }

/// The form of a text, or the text as it stands where nothing is left of it ("A", "The The", "!!!").
inline std::string form_or_text(std::string_view text, std::string (*form)(std::string_view) = normalise) {
  std::string found = form(text);
  return found.empty() ? as_it_stands(text) : found;
}

}  // namespace detail

}  // namespace espalier::rag
