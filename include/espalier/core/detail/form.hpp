#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::detail {

class Form;
/// A form is shared by the forms that hold it. null = no text at all fits.
using FormPtr = std::shared_ptr<const Form>;

/// A set of texts: the small language between a protocol and the dialects of grammars. It has no recursion, so it is
/// also a regular expression.
class Form {
 public:
  enum class Kind : std::uint8_t {
    text,      ///< exactly `text`
    one_of,    ///< one character of `text`
    none_of,   ///< one character that is not in `text`
    sequence,  ///< all parts, one after the other
    either,    ///< one of the parts
    repeat     ///< the only part, `low` to `high` times
  };
  Form(Kind sort, std::string characters, std::vector<FormPtr> pieces, std::uint32_t least = 0, std::uint32_t most = 0)
      : kind(sort), text(std::move(characters)), parts(std::move(pieces)), low(least), high(most) {}

  Kind kind;
  std::string text;  ///< ASCII where it is a set
  std::vector<FormPtr> parts;
  std::uint32_t low, high;
  std::string role = {};  ///< what the text means: a tag's name, "thought", "think" or "" = nothing of its own
};

inline FormPtr literal(std::string_view text) {
  return std::make_shared<Form>(Form::Kind::text, std::string(text), std::vector<FormPtr>());
}
inline FormPtr one_of(std::string_view characters) {
  if (characters.empty()) return nullptr;
  return std::make_shared<Form>(Form::Kind::one_of, std::string(characters), std::vector<FormPtr>());
}
inline FormPtr none_of(std::string_view characters) {
  return std::make_shared<Form>(Form::Kind::none_of, std::string(characters), std::vector<FormPtr>());
}

inline bool is_empty_text(const FormPtr& form) { return form && form->kind == Form::Kind::text && form->text.empty(); }

inline FormPtr sequence(const std::vector<FormPtr>& parts) {
  std::vector<FormPtr> kept;
  for (const FormPtr& part : parts) {
    if (!part) return nullptr;
    if (is_empty_text(part)) continue;
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

}  // namespace espalier::detail
