#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::rag {

namespace detail {

/// The letters in front, in lower case, without blanks and brackets before them.
inline std::string first_word(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && (text.front() == ' ' || text.front() == '(' || text.front() == '\n')) text.remove_prefix(1);
  std::string word(text.begin(), std::find_if_not(text.begin(), text.end(), letter));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

}  // namespace detail

/// Reads a reply in the role "verdict": its first word is yes or no.
inline std::optional<bool> read_verdict(std::string_view text) {
  const std::string word = detail::first_word(text);
  if (word == "yes") return true;
  if (word == "no") return false;
  return std::nullopt;
}

/// Reads a reply in the role "choice": its first word is one letter, given as a capital.
inline std::optional<char> read_choice(std::string_view text) {
  const std::string word = detail::first_word(text);
  if (word.size() != 1) return std::nullopt;
  return static_cast<char>(std::toupper(static_cast<unsigned char>(word.front())));
}

}  // namespace espalier::rag
