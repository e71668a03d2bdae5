#pragma once

#include <espalier/core/protocol.hpp>

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace espalier::rag::detail {

/// Reads a judge's numbers: exactly form.count numbers in [form.low, form.high], separated by commas, and nothing else.
/// So "85/100", "about 7" and "nan" are not scores. No number is clamped, and nothing becomes 0.
inline std::optional<std::vector<double>> read_scores(std::string_view text, const Protocol::ScoreForm& form) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<double> numbers;
  for (;;) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number >= form.low && number <= form.high)) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto next = text.find_first_not_of(blanks);
    if (next == std::string_view::npos) break;
    if (text[next] != ',') return std::nullopt;
    text.remove_prefix(next + 1);
  }
  if (numbers.size() != form.count) return std::nullopt;
  return numbers;
}

}  // namespace espalier::rag::detail
