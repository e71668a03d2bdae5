#pragma once

#include <espalier/llm/detail/form.hpp>
#include <espalier/llm/protocol.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::detail {

/// Text that contains none of the given marks. It is a row of units. A unit is up to five ASCII letters with the
/// character behind them, or six letters. So a unit costs a model about one token, in common words and in rare ones.
/// Beginnings of marks may take the place of that character, with the one behind them that shows that they are none.
///
/// A beginning is as good as a mark to a small model, which then writes it again and again. So no beginning in an angle
/// bracket has more than three characters: after `<ans` only the rest of `<answer>` can follow. A unit with a beginning
/// in an angle bracket, as in `<b`, with another one of four characters or more, or with several in a row counts as an
/// eighth of the whole text. There are at most two beginnings in a row.
class MarkFree {
 public:
  explicit MarkFree(const std::vector<std::string>& marks) {
    for (const std::string& mark : marks) {
      const auto place = std::lower_bound(marks_.begin(), marks_.end(), mark);
      if (!mark.empty() && (place == marks_.end() || *place != mark)) marks_.insert(place, mark);
    }
    for (const std::string& mark : marks_)
      if (starts_.find(mark[0]) == std::string::npos) starts_ += mark[0];
  }

  /// Text of up to `most` units, a few less where they do not divide. `most` > 0. `group` may stand as a unit too and
  /// counts as an eighth of them. It begins with a mark of one character.
  [[nodiscard]] FormPtr row(std::uint32_t most, const FormPtr& group = nullptr) const {
    std::string plain_letters(letters);
    std::erase_if(plain_letters, [this](char c) { return starts_.find(c) != std::string::npos; });
    const FormPtr letter = one_of(plain_letters), begun = repeat(letter, 0, word - 1);
    const FormPtr other = either({none_of(joined(starts_, letters)), way_out("", "<", plain)});
    const FormPtr unit = either({sequence({begun, other}), repeat(letter, word, word)});
    const FormPtr rare = either({rare_unit(""), around(group)});
    if (!rare && most <= few) return sequence({repeat(unit, 0, most), begun});
    const std::uint32_t eighth = std::min(few, (most + 7) / 8), eighths = (most + 1) / eighth - 1;  // before the last
    const FormPtr part = sequence({repeat(unit, 0, eighth - 1), begun});
    return sequence(
        {repeat(either({repeat(unit, eighth, eighth), rare ? sequence({part, rare}) : nullptr}), 0, eighths), part});
  }
  /// One to `most` units, the first of which does not begin with a character of `without`.
  [[nodiscard]] FormPtr row(std::string_view without, std::uint32_t most, const FormPtr& group = nullptr) const {
    return sequence(
        {either({none_of(joined(starts_, without)), rare_unit(without), around(group)}), row(most - 1, group)});
  }
  /// Beginnings of marks in front of a mark or of the end of the text, at least `least` of them.
  [[nodiscard]] FormPtr tail(std::uint32_t least = 0, std::string_view without = {}) const {
    return repeat(beginning("", without), least, run);
  }

 private:
  static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static constexpr std::uint32_t word = 6;  ///< letters in a unit
  static constexpr std::uint32_t run = 2;
  static constexpr std::uint32_t few = 1000;   ///< servers refuse more repetitions of one thing than 2000
  static constexpr std::size_t plain = 3;      ///< characters of the beginning in a unit that may stand anywhere
  static constexpr std::size_t bracketed = 3;  ///< characters of a beginning in an angle bracket
  static constexpr std::size_t any = static_cast<std::size_t>(-1);

  [[nodiscard]] FormPtr rare_unit(std::string_view without) const {
    return sequence({repeat(beginning("", without), 0, run - 1), way_out("", without, any)});
  }
  [[nodiscard]] FormPtr around(const FormPtr& group) const {
    return group ? sequence({repeat(beginning(""), 0, run - 1), group}) : nullptr;
  }

  static std::string joined(std::string_view a, std::string_view b) {
    std::string all;
    for (const std::string_view part : {a, b})
      for (const char c : part)
        if (all.find(c) == all.npos) all.insert(std::upper_bound(all.begin(), all.end(), c), c);
    return all;
  }
  /// The length of the longest end of a text that begins a mark, or is one.
  [[nodiscard]] std::size_t held(std::string_view text) const {
    for (std::size_t i = 0; i < text.size(); ++i)
      for (const std::string& mark : marks_)
        if (mark.starts_with(text.substr(i))) return text.size() - i;
    return 0;
  }
  [[nodiscard]] bool ends_with_mark(std::string_view text) const {
    return std::any_of(marks_.begin(), marks_.end(), [&](const std::string& mark) { return text.ends_with(mark); });
  }
  /// The characters that go on from the beginning of a mark and complete none.
  [[nodiscard]] std::string further(const std::string& begun, std::string_view without) const {
    std::string next;
    if (begun.size() >= bracketed && begun[0] == '<') return next;
    for (const std::string& mark : marks_)
      if (mark.size() > begun.size() + 1 && mark.starts_with(begun) && next.find(mark[begun.size()]) == next.npos &&
          !ends_with_mark(begun + mark[begun.size()]) && (!begun.empty() || without.find(mark[0]) == without.npos))
        next += mark[begun.size()];
    return next;
  }
  /// What may follow `begun` so that the whole is the beginning of a mark, behind which another mark may begin.
  [[nodiscard]] FormPtr beginning(const std::string& begun, std::string_view without = {}) const {
    std::vector<FormPtr> ways;
    for (const char c : further(begun, without)) {
      const std::string longer = begun + c;
      const bool may_end = std::ranges::all_of(starts_, [&](char start) { return held(longer + start) == 1; });
      const FormPtr rest = beginning(longer);
      ways.push_back(sequence({literal(std::string(1, c)), may_end ? optional(rest) : rest}));
    }
    return either(ways);
  }
  /// What may follow `begun` so that no end of the whole begins a mark. The beginning has at most `deepest` characters.
  [[nodiscard]] FormPtr way_out(const std::string& begun, std::string_view without, std::size_t deepest) const {
    std::vector<FormPtr> ways;
    if (!begun.empty()) {
      std::string held_on;
      for (const std::string& mark : marks_)
        for (const char c : mark)
          if (held_on.find(c) == std::string::npos && held(begun + c) > 0) held_on += c;
      ways.push_back(none_of(joined(held_on, "")));
    }
    if (begun.size() < deepest)
      for (const char c : further(begun, without))
        ways.push_back(sequence({literal(std::string(1, c)), way_out(begun + c, "", deepest)}));
    return either(ways);
  }

  std::vector<std::string> marks_;
  std::string starts_;  ///< the characters with which they begin
};

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
  static std::string_view range(char from, char to) {
    return std::string_view("0123456789").substr(std::size_t(from - '0'), std::size_t(to - from + 1));
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
      return sequence({repeat(digit, std::uint32_t(whole - i), std::uint32_t(whole - i)), rest});
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

/// The numbers of a score, separated by commas, with up to six decimals.
inline FormPtr scores_form(const Protocol::ScoreForm& form) {
  if (form.count == 0) return nullptr;
  std::vector<FormPtr> signs;
  if (form.high >= 0) signs.push_back(MagnitudeForm(std::max(form.low, 0.0), form.high).form());
  if (form.low < 0)
    signs.push_back(sequence({literal("-"), MagnitudeForm(std::max(-form.high, 0.0), -form.low).form()}));
  const FormPtr number = either(signs), next = sequence({literal(","), optional(literal(" ")), number});
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
