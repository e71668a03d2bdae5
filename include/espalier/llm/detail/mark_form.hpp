#pragma once

#include <espalier/llm/detail/form.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Text that contains none of the given marks. It is a row of units. A unit is up to five ASCII letters with the
/// character behind them, or six letters. So a unit costs a model about one token, in common words and in rare ones.
/// Beginnings of marks may take the place of that character, with the character behind them that shows that they are no
/// marks.
///
/// A beginning is as good as a mark to a small model, which then writes it again and again. So no beginning in an angle
/// bracket has more than three characters: after `<ans` only the rest of `<answer>` can follow. A unit with a beginning
/// in an angle bracket, as in `<b`, with another one of four characters or more, or with several in a row counts as an
/// eighth of the whole text. There are at most two beginnings in a row.
class MarkFree {
 public:
  explicit MarkFree(std::vector<std::string> marks) : marks_(std::move(marks)) {
    std::erase_if(marks_, [](const std::string& mark) { return mark.empty(); });
    std::sort(marks_.begin(), marks_.end());
    marks_.erase(std::unique(marks_.begin(), marks_.end()), marks_.end());
    for (const std::string& mark : marks_)
      if (starts_.find(mark[0]) == std::string::npos) starts_ += mark[0];
  }

  /// Text of up to `most` units, a few less where they do not divide. `most` > 0. `group` may stand as a unit too and
  /// counts as an eighth of them. It begins with a mark of one character.
  [[nodiscard]] FormPtr row(std::uint32_t most, const FormPtr& group = nullptr) const {
    const FormPtr letter = one_of(plain_letters()), begun = repeat(letter, 0, word - 1);
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

  [[nodiscard]] std::string plain_letters() const {
    std::string rest(letters);
    std::erase_if(rest, [this](char c) { return starts_.find(c) != std::string::npos; });
    return rest;
  }
  [[nodiscard]] FormPtr rare_unit(std::string_view without) const {
    return sequence({repeat(beginning("", without), 0, run - 1), way_out("", without, any)});
  }
  [[nodiscard]] FormPtr around(const FormPtr& group) const {
    return group ? sequence({repeat(beginning(""), 0, run - 1), group}) : nullptr;
  }

  static std::string joined(std::string_view a, std::string_view b) {
    std::string all(a);
    for (const char c : b)
      if (all.find(c) == std::string::npos) all += c;
    std::sort(all.begin(), all.end());
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
          !ends_with_mark(begun + mark[begun.size()]) &&
          (!begun.empty() || without.find(mark[0]) == std::string_view::npos))
        next += mark[begun.size()];
    return next;
  }
  /// What may follow `begun` so that the whole is the beginning of a mark, behind which another mark may begin.
  [[nodiscard]] FormPtr beginning(const std::string& begun, std::string_view without = {}) const {
    std::vector<FormPtr> ways;
    for (const char c : further(begun, without)) {
      const std::string longer = begun + c;
      const bool may_end =
          std::all_of(starts_.begin(), starts_.end(), [&](char start) { return held(longer + start) == 1; });
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

}  // namespace espalier::detail
