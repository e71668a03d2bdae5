#pragma once

#include <espalier/llm/detail/form.hpp>
#include <espalier/llm/protocol.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace espalier::detail {

/// The decimal numbers from `low` to `high`, without a sign, with up to six decimals.
class MagnitudeForm {
 public:
  MagnitudeForm(double low, double high) {
    const double whole = 1e6;
    const auto least = static_cast<std::uint64_t>(std::ceil(low * whole));
    const auto most = static_cast<std::uint64_t>(std::floor(high * whole));
    std::vector<FormPtr> lengths;
    std::uint64_t first = 0, last = 9;  // the whole numbers of one length
    for (std::size_t length = 1; length <= 12 && first * 1'000'000 <= most; ++length) {
      if ((last + 1) * 1'000'000 > least) {
        low_ = digits(std::max(least, first * 1'000'000), length);
        high_ = digits(std::min(most, last * 1'000'000 + 999'999), length);
        if (low_ <= high_) lengths.push_back(from(0, true, true));
      }
      first = last + 1;
      last = last * 10 + 9;
    }
    form_ = either(lengths);
  }
  [[nodiscard]] const FormPtr& form() const { return form_; }

 private:
  static constexpr std::size_t decimals = 6;

  static std::string digits(std::uint64_t millionths, std::size_t whole_digits) {
    std::string text = std::to_string(millionths);
    return std::string(whole_digits + decimals - std::min(text.size(), whole_digits + decimals), '0') + text;
  }
  static std::string range(char from, char to) {
    std::string all;
    for (char c = from; c <= to; ++c) all += c;
    return all;
  }
  /// What may follow i digits, which are those of the low or the high bound so far, or lie between them.
  [[nodiscard]] FormPtr from(std::size_t i, bool at_low, bool at_high) const {
    const std::size_t whole = low_.size() - decimals;
    if (i == low_.size()) return literal("");
    at_low = at_low && low_.find_first_not_of('0', i) != std::string::npos;  // else all that follows is above it
    at_high = at_high && high_.find_first_not_of('9', i) != std::string::npos;
    if (!at_low && !at_high) {
      const FormPtr digit = one_of("0123456789");
      if (i >= whole) return repeat(digit, i == whole ? 1 : 0, static_cast<std::uint32_t>(low_.size() - i));
      const FormPtr rest = optional(sequence({literal("."), repeat(digit, 1, decimals)}));
      return sequence(
          {repeat(digit, static_cast<std::uint32_t>(whole - i), static_cast<std::uint32_t>(whole - i)), rest});
    }
    std::vector<FormPtr> ways;
    const char least = at_low ? low_[i] : '0', most = at_high ? high_[i] : '9';
    const auto digit = [&](char c1, char c2, bool low, bool high) {
      if (c1 <= c2) ways.push_back(sequence({one_of(range(c1, c2)), after(i + 1, low, high)}));
    };
    if (at_low && at_high && least == most) {
      digit(least, least, true, true);
    } else {
      if (at_low) digit(least, least, true, false);
      digit(static_cast<char>(least + at_low), static_cast<char>(most - at_high), false, false);
      if (at_high) digit(most, most, false, true);
    }
    return either(ways);
  }
  /// What may follow i > 0 digits: the end, a point, or the next digit.
  [[nodiscard]] FormPtr after(std::size_t i, bool at_low, bool at_high) const {
    const std::size_t whole = low_.size() - decimals;
    const FormPtr rest = from(i, at_low, at_high);
    if (i < whole || i == low_.size() || (!at_low && !at_high && i != whole)) return rest;
    const FormPtr more = i == whole ? sequence({literal("."), rest}) : rest;
    const bool may_end = !at_low || low_.find_first_not_of('0', i) == std::string::npos;
    return may_end ? optional(more) : more;
  }

  std::string low_, high_;  ///< the bounds' digits, the last six of them decimals
  FormPtr form_;
};

/// A number from `low` to `high` with up to six decimals.
inline FormPtr number_form(double low, double high) {
  std::vector<FormPtr> signs;
  if (high >= 0) signs.push_back(MagnitudeForm(std::max(low, 0.0), high).form());
  if (low < 0) {
    const FormPtr magnitude = MagnitudeForm(std::max(-high, 0.0), -low).form();
    signs.push_back(magnitude ? sequence({literal("-"), magnitude}) : nullptr);
  }
  return either(signs);
}

/// The numbers of a score, separated by commas.
inline FormPtr scores_form(const Protocol::ScoreForm& form) {
  const FormPtr number = number_form(form.low, form.high);
  if (form.count < 2) return form.count == 0 ? nullptr : number;
  const FormPtr next = sequence({literal(","), optional(literal(" ")), number});
  return sequence({number, repeat(next, form.count - 1, form.count - 1)});
}

/// "2 over 1", of two different candidates up to 99, or "none".
inline FormPtr preference_form() {
  const FormPtr over = literal(" over "), two = sequence({one_of("123456789"), one_of("0123456789")});
  const auto without = [](std::string digits, char digit) {
    std::erase(digits, digit);
    return one_of(digits);
  };
  std::vector<FormPtr> ways{any_case("none"), sequence({two, over, one_of("123456789")})};
  for (char digit = '0'; digit <= '9'; ++digit) {
    const FormPtr this_one = literal(std::string(1, digit));
    ways.push_back(sequence({one_of("123456789"), this_one, over, one_of("123456789"), without("0123456789", digit)}));
    if (digit == '0') continue;
    ways.push_back(sequence({this_one, over, either({without("123456789", digit), two})}));
    ways.push_back(sequence({this_one, one_of("0123456789"), over, without("123456789", digit), one_of("0123456789")}));
  }
  return either(ways);
}

}  // namespace espalier::detail
