#pragma once

#include <espalier/llm/grammar.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>

/// Random texts of a form, and whether a text is in it: what the tests of grammars need.
namespace grammar_forms {

using espalier::detail::Form;
using espalier::detail::FormPtr;

/// A random text of a form and what it says.
class Spoken {
 public:
  Spoken(const FormPtr& form, std::uint64_t seed) : random_(seed) { say(form); }
  std::string text;
  std::map<std::string, std::string> said;  ///< by role

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  void say(const FormPtr& form) {
    const std::size_t begin = text.size();
    switch (form->kind) {
      case Form::Kind::text:
        text += form->text;
        break;
      case Form::Kind::one_of:
        text += form->text[below(static_cast<std::uint32_t>(form->text.size()))];
        break;
      case Form::Kind::none_of:
        say_other(form->text);
        break;
      case Form::Kind::sequence:
        for (const FormPtr& part : form->parts) say(part);
        break;
      case Form::Kind::either:
        say(form->parts[below(static_cast<std::uint32_t>(form->parts.size()))]);
        break;
      case Form::Kind::repeat: {
        const std::uint32_t most = std::min(form->high, form->low + (below(40) == 0 ? 200 : 6));
        for (std::uint32_t n = form->low + below(most - form->low + 1); n > 0; --n) say(form->parts[0]);
      }
    }
    if (!form->role.empty()) said[form->role] = text.substr(begin);
  }
  /// Characters of marks, blanks and other scripts are as likely as letters.
  void say_other(const std::string& without) {
    static constexpr std::string_view likely = "<>/|&#;()[]{}:.,-+0123456789 \n\t\r\"\\'ansqwerthikSFQAoCyYeN";
    for (;;) {
      if (below(20) == 0) return void(text += below(2) ? "\u00e9" : "\u4e2d");
      if (below(40) == 0 && without.find('&') == std::string::npos) return void(text += "&lt;");
      const char c = likely[below(static_cast<std::uint32_t>(likely.size()))];
      if (without.find(c) == std::string::npos) return void(text += c);
    }
  }
  std::mt19937_64 random_;
};

/// True if a text is in a form. Counts bytes as characters.
class Fits {
 public:
  static bool whole(const FormPtr& form, std::string_view text) {
    const Ends ends = Fits{text}.after(form, {0});
    return ends.contains(text.size());
  }

 private:
  using Ends = std::set<std::size_t>;
  explicit Fits(std::string_view text) : text_(text) {}
  [[nodiscard]] Ends after(const FormPtr& form, const Ends& begins) const {
    Ends ends;
    switch (form->kind) {
      case Form::Kind::text:
        for (const std::size_t i : begins)
          if (text_.substr(i).starts_with(form->text)) ends.insert(i + form->text.size());
        break;
      case Form::Kind::one_of:
      case Form::Kind::none_of:
        for (const std::size_t i : begins)
          if (i < text_.size() &&
              (form->text.find(text_[i]) == std::string::npos) == (form->kind == Form::Kind::none_of))
            ends.insert(i + 1);
        break;
      case Form::Kind::sequence:
        ends = begins;
        for (const FormPtr& part : form->parts) ends = after(part, ends);
        break;
      case Form::Kind::either:
        for (const FormPtr& part : form->parts) ends.merge(after(part, begins));
        break;
      case Form::Kind::repeat: {
        Ends now = begins;
        if (form->low == 0) ends = now;
        for (std::uint32_t n = 1; n <= form->high && !now.empty(); ++n) {
          now = after(form->parts[0], now);
          if (n >= form->low) ends.insert(now.begin(), now.end());
        }
      }
    }
    return ends;
  }
  std::string_view text_;
};

}  // namespace grammar_forms
