#pragma once

#include <espalier/version.hpp>

#include <array>
#include <string>
#include <string_view>

/// Neutralises text of documents and models for a prompt. A character that begins a mark becomes a reference to it:
/// - '<', which begins the tags of protocols and of most chat templates: "&lt;"
/// - '[' before a name with three capitals or more and ']', such as "[INST]", "[/INST]" and "[gMASK]": "&#91;"
/// - '#' before "##", which begins a section of a prompt: "&#35;"
/// - '&' before the rest of one of these references: "&amp;"
/// So no mark can come from inside it. Ordinary text is unchanged, and restore() gives back the original bytes.
namespace espalier::rag::detail {

struct Reference {
  char character;
  std::string_view text;
};
inline constexpr std::array<Reference, 4> references{{{'<', "&lt;"}, {'[', "&#91;"}, {'#', "&#35;"}, {'&', "&amp;"}}};

/// If a '[' before this text begins a control token.
inline bool names_control(std::string_view rest) {
  if (rest.starts_with('/')) rest.remove_prefix(1);
  int capitals = 0;
  for (const char c : rest) {
    if (c == ']') return capitals >= 3;
    const bool capital = c >= 'A' && c <= 'Z', other = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!capital && !other) return false;
    capitals += capital;
  }
  return false;
}

/// If this character begins a mark, given what stands behind it.
inline bool begins_mark(char c, std::string_view rest) {
  switch (c) {
    case '<':
      return true;
    case '[':
      return names_control(rest);
    case '#':
      return rest.starts_with("##");
    case '&':
      for (const Reference& reference : references)
        if (rest.starts_with(reference.text.substr(1))) return true;
      return false;
    default:
      return false;
  }
}

inline std::string neutralise(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!begins_mark(text[i], text.substr(i + 1))) out += text[i];
    else
      for (const Reference& reference : references)
        if (reference.character == text[i]) out += reference.text;
  }
  return out;
}

/// The inverse, for display and for what a model copied from a prompt.
inline std::string restore(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    char character = text[0];
    if (character == '&')
      for (const Reference& reference : references)
        if (text.starts_with(reference.text)) {
          taken = reference.text.size();
          character = reference.character;
        }
    out += character;
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace espalier::rag::detail
