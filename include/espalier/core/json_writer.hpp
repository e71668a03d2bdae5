#pragma once

#include <espalier/core/utf8.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace espalier {

namespace detail {

/// True if eight bytes are ASCII characters that a JSON string needs not escape.
inline bool plain_json(const char* bytes) {
  const auto each = [](std::uint64_t byte) { return byte * 0x0101010101010101; };
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  const std::uint64_t control = word - each(0x20), quote = (word ^ each('"')) - each(1),
                      backslash = (word ^ each('\\')) - each(1);
  return ((word | control | quote | backslash) & each(0x80)) == 0;
}

/// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so the result always
/// parses. It is one line for every reader: U+0085, U+2028 and U+2029, which some take for a line's end, are escaped.
inline void append_json_string(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  out.reserve(out.size() + text.size() + 2);
  out += '"';
  std::size_t clean = 0;  // [clean, i) needs no change
  for (std::size_t i = 0; i < text.size();) {
    if (text.size() - i >= 8 && plain_json(text.data() + i)) {
      i += 8;
      continue;
    }
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      ++i;
      continue;
    }
    std::size_t next = i;
    const char32_t point = decode_utf8(text, next);
    const bool ends_line = point == 0x85 || point == 0x2028 || point == 0x2029, damaged = c >= 0x80 && next == i + 1;
    if (c >= 0x80 && !ends_line && !damaged) {
      i = next;
      continue;
    }
    out.append(text, clean, i - clean);
    if (damaged) out += "\xEF\xBF\xBD";
    else if (c == '"' || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else (out += point < 0x100 ? "\\u00" : "\\u20") += {digits[point >> 4 & 15], digits[point & 15]};
    clean = i = next;
  }
  out.append(text, clean);
  out += '"';
}

}  // namespace detail

/// Writes JSON by appending to a string. The writer puts the commas. The caller closes objects and arrays.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name) {
    comma();
    detail::append_json_string(out_, name);
    out_ += ':';
    first_ = true;
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    comma();
    detail::append_json_string(out_, text);
    return *this;
  }
  JsonWriter& value(std::same_as<bool> auto flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(std::integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    char buffer[24];
    return raw({buffer, static_cast<std::size_t>(std::to_chars(buffer, buffer + sizeof buffer, number).ptr - buffer)});
  }
  /// The shortest form that reads back as the same double. NaN and infinities become null.
  JsonWriter& value(std::floating_point auto number) {
    if (!std::isfinite(number)) return raw("null");
    if (number == 0 && std::signbit(number)) return raw("-0.0");  // -0 would be read as a whole number, which is 0
    char buffer[32];
    return raw({buffer, static_cast<std::size_t>(std::to_chars(buffer, buffer + sizeof buffer, number).ptr - buffer)});
  }
  JsonWriter& null() { return raw("null"); }
  template <class T>
  JsonWriter& value(const std::optional<T>& known) {
    return known ? value(*known) : null();
  }
  JsonWriter& array(const auto& items) {
    begin_array();
    for (const auto& item : items) value(item);
    return end_array();
  }
  /// Text that is already JSON.
  JsonWriter& raw(std::string_view json) {
    comma();
    out_ += json;
    return *this;
  }
  JsonWriter& field(std::string_view name, const auto& v) { return key(name).value(v); }
  /// A field with an object that holds an object for each entry of a map. write(key, value) writes its fields.
  JsonWriter& members(std::string_view name, const auto& map, auto write) {
    key(name).begin_object();
    for (const auto& [inner, of_inner] : map) {
      key(inner).begin_object();
      write(inner, of_inner);
      end_object();
    }
    return end_object();
  }
  /// A field with a list of objects. write(item) writes the fields of one.
  JsonWriter& objects(std::string_view name, const auto& items, auto write) {
    key(name).begin_array();
    for (const auto& item : items) {
      begin_object();
      write(item);
      end_object();
    }
    return end_array();
  }

 private:
  JsonWriter& open(char bracket) {
    comma();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  void comma() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string& out_;
  bool first_ = true;
};

}  // namespace espalier
