#pragma once

#include <espalier/core/error.hpp>

#include <simdjson.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::output::detail {

/// An object in a line of a JSONL file, whose errors name file, line and field. Valid only while its line is read.
class JsonLine {
 public:
  JsonLine(std::string_view file, std::size_t line, simdjson::dom::element object, std::string path = "")
      : file_(file), line_(line), object_(object), path_(std::move(path)) {}

  [[noreturn]] void fail(std::string_view field, std::string_view what) const {
    throw InputError(file_, line_, path_ + std::string(field), what);
  }
  /// True if the field exists and is not null.
  [[nodiscard]] bool has(std::string_view field) const {
    simdjson::dom::element value;
    return object_[field].get(value) == simdjson::SUCCESS && !value.is_null();
  }
  /// A required field of type T: string_view, double, uint64_t, bool, dom::array or dom::object. `sort` names the type
  /// in errors.
  template <class T>
  [[nodiscard]] T as(std::string_view field, std::string_view sort) const {
    if (!has(field)) fail(field, "is missing");
    T value;
    if (object_[field].get(value) != simdjson::SUCCESS) fail(field, "is not " + std::string(sort));
    return value;
  }
  [[nodiscard]] std::string text(std::string_view field) const {
    return std::string(as<std::string_view>(field, "a text"));
  }
  [[nodiscard]] std::string text_or(std::string_view field, std::string otherwise) const {
    return has(field) ? text(field) : otherwise;
  }
  [[nodiscard]] double number(std::string_view field) const { return as<double>(field, "a number"); }
  [[nodiscard]] std::uint64_t count(std::string_view field) const {
    return as<std::uint64_t>(field, "a whole number from 0");
  }
  [[nodiscard]] std::uint64_t count_or(std::string_view field, std::uint64_t otherwise) const {
    return has(field) ? count(field) : otherwise;
  }
  /// A list of texts, empty if it is missing or null.
  [[nodiscard]] std::vector<std::string> texts(std::string_view field) const {
    std::vector<std::string> all;
    for (const simdjson::dom::element item : items(field)) {
      std::string_view value;
      if (item.get(value) != simdjson::SUCCESS) fail(field, "holds something that is not a text");
      all.emplace_back(value);
    }
    return all;
  }
  /// The objects of a list, empty if it is missing or null.
  [[nodiscard]] std::vector<JsonLine> objects(std::string_view field) const {
    std::vector<JsonLine> all;
    for (const simdjson::dom::element item : items(field)) {
      if (!item.is_object()) fail(field, "holds something that is not an object");
      all.push_back(inner(std::string(field) + '[' + std::to_string(all.size()) + ']', item));
    }
    return all;
  }
  /// The elements of a list, empty if it is missing or null.
  [[nodiscard]] std::vector<simdjson::dom::element> items(std::string_view field) const {
    std::vector<simdjson::dom::element> all;
    if (!has(field)) return all;
    for (const simdjson::dom::element item : as<simdjson::dom::array>(field, "a list")) all.push_back(item);
    return all;
  }
  [[nodiscard]] JsonLine object(std::string_view field) const {
    const auto value = as<simdjson::dom::element>(field, "JSON");
    if (!value.is_object()) fail(field, "is not an object");
    return inner(std::string(field), value);
  }
  /// The inner objects of an object, by name.
  [[nodiscard]] std::vector<std::pair<std::string, JsonLine>> members(std::string_view field) const {
    std::vector<std::pair<std::string, JsonLine>> all;
    for (const auto member : as<simdjson::dom::object>(field, "an object")) {
      if (!member.value.is_object()) fail(field, "holds something that is not an object");
      all.emplace_back(std::string(member.key),
                       inner(std::string(field) + '.' + std::string(member.key), member.value));
    }
    return all;
  }
  [[nodiscard]] simdjson::dom::element element() const { return object_; }
  [[nodiscard]] simdjson::dom::object as_object() const { return object_.get_object().value(); }
  [[nodiscard]] std::size_t line() const { return line_; }

 private:
  [[nodiscard]] JsonLine inner(const std::string& field, simdjson::dom::element value) const {
    return {file_, line_, value, path_ + field + '.'};
  }

  std::string_view file_;
  std::size_t line_;
  simdjson::dom::element object_;
  std::string path_;  ///< of this object in its line, such as "metadata."
};

/// Calls `take` with every object of a stream of JSON lines until it returns false. Errors call the stream `path`.
/// Blank lines, a byte-order mark and CRLF are accepted. Throws InputError for a line that is not a JSON object, and
/// for a stream that fails or has no object.
inline void for_each_line(std::istream& file, const std::string& path,
                          const std::function<bool(const JsonLine&)>& take) {
  simdjson::dom::parser parser;
  std::string text;
  std::size_t line = 0, objects = 0;
  while (std::getline(file, text)) {
    ++line;
    if (line == 1 && text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    simdjson::dom::element element;
    if (const auto error = parser.parse(text).get(element)) {
      const bool bytes = error == simdjson::UTF8_ERROR;
      throw InputError(
          path, line, "",
          bytes ? "holds bytes that are not UTF-8" : std::string("is not JSON: ") + simdjson::error_message(error));
    }
    if (!element.is_object()) throw InputError(path, line, "", "is not a JSON object");
    ++objects;
    if (!take(JsonLine(path, line, element))) return;
  }
  if (file.bad()) throw InputError(path, line + 1, "", "cannot be read");
  if (objects == 0) throw InputError(path, 0, "", "is empty");
}

/// A file of lines. Throws InputError if it cannot be read.
inline std::ifstream open_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || (file.peek() == std::ifstream::traits_type::eof() && !file.eof()))
    throw InputError(path, 0, "", "cannot be read");
  file.clear();
  return file;
}

/// The same for a file. Throws InputError if it is missing.
inline void for_each_line(const std::string& path, const std::function<bool(const JsonLine&)>& take) {
  std::ifstream file = open_lines(path);
  for_each_line(file, path, take);
}

}  // namespace espalier::output::detail
