#pragma once

#include <string>
#include <string_view>

/// Text of documents and models is neutralised wherever it is rendered into a prompt: '<' becomes "&lt;", and an '&' that
/// stands before "lt;" or "amp;" becomes "&amp;". So no tag of any protocol can come from inside it, ordinary text is left
/// as it is, and restore() gives back the original bytes.
namespace espalier::rag {

inline std::string neutralise(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    if (text[i] == '<') out += "&lt;";
    else if (text[i] == '&' && (rest.starts_with("lt;") || rest.starts_with("amp;"))) out += "&amp;";
    else out += text[i];
  }
  return out;
}

/// The inverse, for display and for parsers of what a model copied from a prompt.
inline std::string restore(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("&lt;")) {
      out += '<';
      i += 3;
    } else if (rest.starts_with("&amp;")) {
      out += '&';
      i += 4;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace espalier::rag
