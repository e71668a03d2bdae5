#pragma once

#include <espalier/core/tree.hpp>
#include <espalier/fmt/one_line.hpp>

#include <fmt/format.h>

#include <concepts>
#include <iterator>
#include <string>
#include <string_view>

namespace espalier::detail {

/// A value of several parts that names them: `parts(value)` gives pairs of a name and a number.
template <class T>
concept HasParts = requires(const T& value) {
  { parts(value).begin()->first } -> std::convertible_to<std::string_view>;
  { parts(value).begin()->second } -> std::convertible_to<double>;
};

/// Each part's name and number.
template <HasParts T>
std::string parts_text(const T& value) {
  std::string text;
  for (const auto& [name, number] : parts(value))
    fmt::format_to(std::back_inserter(text), "{}{} {:.4g}", text.empty() ? "" : ", ", name, double(number));
  return text;
}

/// A value for people: a number with four digits, or parts in brackets. A type without either shows its utility.
template <class T>
std::string value_text(const T& value) {
  if constexpr (HasParts<T>) return fmt::format("({})", parts_text(value));
  else return fmt::format("{:.4g}", double(utility(value)));
}

}  // namespace espalier::detail

/// A value of several parts on one line: "plan 0.5, search 0.25".
template <espalier::detail::HasParts T>
struct fmt::formatter<T> : espalier::detail::Described<&espalier::detail::parts_text<T>> {};
