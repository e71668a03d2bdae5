#pragma once

#include <string>
#include <string_view>

namespace espalier::output::detail {

/// Appends `text` as HTML text or inside a quoted attribute. NUL, which HTML does not allow, becomes U+FFFD.
inline void append_html(std::string& out, std::string_view text) {
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\0':
        out += "\xEF\xBF\xBD";
        break;
      default:
        out += c;
    }
}

/// Appends JSON for a script element. The characters < > & U+2028 U+2029, which JSON has only inside strings, become
/// `\u` escapes. The JSON keeps its meaning, and nothing in it can end the element.
inline void append_json_in_html(std::string& out, std::string_view json) {
  std::size_t clean = 0;  // [clean, i) needs no change
  const auto replace = [&](std::size_t i, std::size_t length, const char* escape) {
    (out += json.substr(clean, i - clean)) += escape;
    clean = i + length;
  };
  out.reserve(out.size() + json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') replace(i, 1, "\\u003c");
    else if (json[i] == '>') replace(i, 1, "\\u003e");
    else if (json[i] == '&') replace(i, 1, "\\u0026");
    else if (json[i] == '\xE2' && json.substr(i, 3) == "\xE2\x80\xA8") replace(i, 3, "\\u2028");
    else if (json[i] == '\xE2' && json.substr(i, 3) == "\xE2\x80\xA9") replace(i, 3, "\\u2029");
  }
  out += json.substr(clean);
}

}  // namespace espalier::output::detail
