#pragma once

#include <espalier/llm/protocol.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Readers of what a judge decides. Each takes the text of one role, and gives nothing for any other form.
namespace espalier::rag::detail {

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Reads a judge's numbers: exactly form.count numbers in [form.low, form.high], separated by commas, and nothing else.
/// So "85/100", "about 7" and "nan" are not scores. No number is clamped, and nothing becomes 0.
inline std::optional<std::vector<double>> read_scores(std::string_view text, const Protocol::ScoreForm& form) {
  std::vector<double> numbers;
  for (;;) {
    text = trim(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number >= form.low && number <= form.high)) return std::nullopt;
    numbers.push_back(number);
    text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    if (text.empty()) break;
    if (text[0] != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  if (numbers.size() != form.count) return std::nullopt;
  return numbers;
}

/// The leading letters in lower case, after blanks, line ends and opening brackets.
inline std::string first_word(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  while (!text.empty() && (text.front() == ' ' || text.front() == '(' || text.front() == '\n')) text.remove_prefix(1);
  std::string word(text.begin(), std::find_if_not(text.begin(), text.end(), letter));
  for (char& c : word)
    if (c < 'a') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

/// Reads a reply in the role "verdict". Its first word must be yes or no.
inline std::optional<bool> read_verdict(std::string_view text) {
  const std::string word = first_word(text);
  if (word == "yes") return true;
  if (word == "no") return false;
  return std::nullopt;
}

/// Reads a reply in the role "choice". Its first word must be one letter, which is returned as a capital.
inline std::optional<char> read_choice(std::string_view text) {
  const std::string word = first_word(text);
  if (word.size() != 1) return std::nullopt;
  return static_cast<char>(word.front() - 'a' + 'A');
}

/// A reply in the role "preference": candidate `better` over candidate `worse`, counted from 1. 0 over 0 = no
/// preference.
struct Preference {
  std::size_t better = 0;
  std::size_t worse = 0;
};

/// Reads "2 over 1" or "none". Anything else gives nothing.
inline std::optional<Preference> read_preference(std::string_view text) {
  constexpr std::string_view over = "over";
  const auto number = [&](std::size_t& n) {
    text = trim(text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || n == 0) return false;
    text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    return true;
  };
  Preference read;
  if (first_word(text) == "none" && trim(text).size() == 4) return read;
  if (!number(read.better) || !text.starts_with(over)) return std::nullopt;
  text.remove_prefix(over.size());
  if (!number(read.worse) || !text.empty() || read.better == read.worse) return std::nullopt;
  return read;
}

}  // namespace espalier::rag::detail
