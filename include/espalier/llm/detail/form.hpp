#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::detail {

struct Form;
/// A form is shared by the forms that hold it. null = no text at all fits.
using FormPtr = std::shared_ptr<const Form>;

/// A set of texts, between a protocol and the dialects of grammars. It has no recursion: a regular expression too.
struct Form {
  enum class Kind : std::uint8_t {
    text,      ///< exactly `text`
    one_of,    ///< one character of `text`
    none_of,   ///< one character that is not in `text`
    sequence,  ///< all parts, one after the other
    either,    ///< one of the parts
    repeat     ///< the only part, `low` to `high` times
  };
  Kind kind;
  std::string text;  ///< ASCII where it is a set
  std::vector<FormPtr> parts = {};
  std::uint32_t low = 0, high = 0;
  std::string role = {};  ///< what the text means: a tag's name, "thought", "think" or "" = nothing of its own
};

inline FormPtr literal(std::string_view text) { return std::make_shared<Form>(Form::Kind::text, std::string(text)); }
inline FormPtr one_of(std::string_view characters) {
  if (characters.empty()) return nullptr;
  return std::make_shared<Form>(Form::Kind::one_of, std::string(characters));
}
inline FormPtr none_of(std::string_view characters) {
  return std::make_shared<Form>(Form::Kind::none_of, std::string(characters));
}

inline FormPtr sequence(const std::vector<FormPtr>& parts) {
  std::vector<FormPtr> kept;
  for (const FormPtr& part : parts) {
    if (!part) return nullptr;
    if (part->kind == Form::Kind::text && part->text.empty()) continue;
    kept.push_back(part);
  }
  if (kept.empty()) return literal("");
  return kept.size() == 1 ? kept[0] : std::make_shared<Form>(Form::Kind::sequence, "", std::move(kept));
}
inline FormPtr either(const std::vector<FormPtr>& parts) {
  std::vector<FormPtr> kept;
  for (const FormPtr& part : parts)
    if (part) kept.push_back(part);
  if (kept.empty()) return nullptr;
  return kept.size() == 1 ? kept[0] : std::make_shared<Form>(Form::Kind::either, "", std::move(kept));
}
inline FormPtr repeat(const FormPtr& part, std::uint32_t low, std::uint32_t high) {
  if (!part) return low == 0 ? literal("") : nullptr;
  if (high == 0) return literal("");
  return std::make_shared<Form>(Form::Kind::repeat, "", std::vector<FormPtr>{part}, low, high);
}
inline FormPtr optional(const FormPtr& part) { return repeat(part, 0, 1); }

/// The same texts with a meaning.
inline FormPtr meaning(std::string role, const FormPtr& form) {
  if (!form) return nullptr;
  auto named = std::make_shared<Form>(*form);
  named->role = std::move(role);
  return named;
}

/// A word of letters in any case.
inline FormPtr any_case(std::string_view word) {
  std::vector<FormPtr> letters;
  for (const char c : word) letters.push_back(one_of(std::string{c, static_cast<char>(c - 'a' + 'A')}));
  return sequence(letters);
}

/// Appends one character of a set or a text of a grammar. Control characters and those in `special` are escaped.
inline void append_escaped(std::string& out, char c, std::string_view special) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n') out += "\\n";
  else if (c == '\r') out += "\\r";
  else if (c == '\t') out += "\\t";
  else if (byte < 32 || byte == 127 || special.find(c) != std::string_view::npos)
    ((out += "\\x") += hex[byte >> 4]) += hex[byte & 15];
  else out += c;
}
/// A set in brackets. Four letters or digits in a row, or more, are written as a range.
inline std::string set_text(const Form& set) {
  const auto plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  std::string out = set.kind == Form::Kind::none_of ? "[^" : "[";
  for (std::size_t i = 0; i < set.text.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < set.text.size() && plain(set.text[last]) && set.text[last + 1] == set.text[last] + 1) ++last;
    append_escaped(out, set.text[i], R"(\]["^-/&~#)");
    if (last < i + 3 || !plain(set.text[last])) continue;
    (out += '-') += set.text[last];
    i = last;
  }
  return out += ']';
}

/// How often something is repeated.
inline std::string times(std::uint32_t low, std::uint32_t high) {
  if (low == 0 && high == 1) return "?";
  return '{' + std::to_string(low) + (low == high ? "" : ',' + std::to_string(high)) + '}';
}

/// Writes a form as GBNF, the grammars of llama.cpp. SGLang's EBNF and XGrammar read the same text. What is repeated,
/// and what has a meaning of its own, is a rule. Equal rules stand once. The root is one name: then llguidance, which
/// splits texts into words greedily, takes the whole reply as one word.
class GbnfText {
 public:
  static std::string of(const FormPtr& form) {
    GbnfText text;
    std::string out = "root ::= reply\nreply ::= " + text.alternatives(form) + '\n';
    for (const auto& [name, body] : text.rules_) out += name + " ::= " + body + '\n';
    return out;
  }

 private:
  std::string alternatives(const FormPtr& form) {
    if (form->kind != Form::Kind::either) return written(form, false);
    std::string out;
    for (const FormPtr& part : form->parts)
      (out += out.empty() ? "" : " | ") += part->role.empty() ? written(part, false) : rule(part);
    return out;
  }
  /// A form as a part of others. `single`: it must be one item.
  std::string written(const FormPtr& form, bool single) {
    using enum Form::Kind;
    if (form->kind == one_of || form->kind == none_of) return set_text(*form);
    if (form->kind == either) return '(' + alternatives(form) + ')';
    if (form->kind == repeat) return repeated(*form);
    std::string out;
    if (form->kind == text) {
      for (const char c : form->text) append_escaped(out, c, "\"\\");
      return '"' + out + '"';
    }
    for (const FormPtr& part : form->parts)
      (out += out.empty() ? "" : " ") += part->role.empty() ? written(part, part->kind == either) : rule(part);
    return single ? '(' + out + ')' : out;
  }
  std::string repeated(const Form& form) {
    const FormPtr& part = form.parts[0];
    const bool once = form.low == 0 && form.high == 1;
    const bool set = part->kind == Form::Kind::one_of || part->kind == Form::Kind::none_of;
    return (once || set ? written(part, true) : rule(part)) + times(form.low, form.high);
  }
  std::string rule(const FormPtr& form) {
    std::string body = alternatives(form), name = form->role;
    for (const auto& [known, text] : rules_)
      if (text == body) return known;
    for (char& c : name)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) c = '-';
    if (name.empty() || name == "root" || name == "reply") name = "r" + std::to_string(rules_.size() + 1);
    for (const auto& [known, text] : rules_)
      if (known == name) name += "-" + std::to_string(rules_.size() + 1);
    rules_.emplace_back(name, std::move(body));
    return name;
  }

  std::vector<std::pair<std::string, std::string>> rules_;
};

/// Writes a form as a regular expression of the common kind: groups, sets, `{m,n}`.
inline std::string regex_text(const FormPtr& form, bool single = false) {
  using enum Form::Kind;
  if (form->kind == one_of || form->kind == none_of) return set_text(*form);
  if (form->kind == repeat) return regex_text(form->parts[0], true) + times(form->low, form->high);
  std::string out;
  for (const char c : form->text) {
    if (c == '\n' || c == '\t' || c == '\r') append_escaped(out, c, "");
    else (out += std::string_view("\\^$.|?*+()[]{}/").find(c) == std::string_view::npos ? "" : "\\") += c;
  }
  if (form->kind == text) return single && form->text.size() != 1 ? "(?:" + out + ')' : out;
  for (const FormPtr& part : form->parts) {
    if (form->kind == either) (out += out.empty() ? "" : "|") += regex_text(part);
    else out += regex_text(part, part->kind == either);
  }
  return single || form->kind == either ? "(?:" + out + ')' : out;
}

}  // namespace espalier::detail
