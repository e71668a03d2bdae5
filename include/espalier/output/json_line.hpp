#pragma once

#include <espalier/core/error.hpp>

#include <simdjson.h>

#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::output {

/// One object of a JSONL file, with errors that name file, line and field.
class JsonLine {
 public:
  JsonLine(std::string_view file, std::size_t line, simdjson::dom::element object) : file_(file), line_(line), object_(object) {}

  [[noreturn]] void fail(std::string_view field, std::string_view what) const { throw InputError(file_, line_, field, what); }
  [[nodiscard]] bool has(std::string_view field) const {
    simdjson::dom::element value;
    return object_[field].get(value) == simdjson::SUCCESS && !value.is_null();
  }
  /// A text that must be there.
  [[nodiscard]] std::string text(std::string_view field) const {
    if (!has(field)) fail(field, "is missing");
    std::string_view value;
    if (object_[field].get(value) != simdjson::SUCCESS) fail(field, "is not a text");
    return std::string(value);
  }
  [[nodiscard]] std::string text_or(std::string_view field, std::string otherwise) const { return has(field) ? text(field) : otherwise; }
  /// A list of texts; empty if it is missing or null.
  [[nodiscard]] std::vector<std::string> texts(std::string_view field) const {
    std::vector<std::string> all;
    if (!has(field)) return all;
    simdjson::dom::array array;
    if (object_[field].get(array) != simdjson::SUCCESS) fail(field, "is not a list");
    for (const simdjson::dom::element item : array) {
      std::string_view value;
      if (item.get(value) != simdjson::SUCCESS) fail(field, "holds something that is not a text");
      all.emplace_back(value);
    }
    return all;
  }
  /// The objects of a list; empty if it is missing or null.
  [[nodiscard]] std::vector<JsonLine> objects(std::string_view field) const {
    std::vector<JsonLine> all;
    if (!has(field)) return all;
    simdjson::dom::array array;
    if (object_[field].get(array) != simdjson::SUCCESS) fail(field, "is not a list");
    for (const simdjson::dom::element item : array) {
      if (!item.is_object()) fail(field, "holds something that is not an object");
      all.emplace_back(file_, line_, item);
    }
    return all;
  }
  [[nodiscard]] double number(std::string_view field) const {
    if (!has(field)) fail(field, "is missing");
    double value = 0;
    if (object_[field].get(value) != simdjson::SUCCESS) fail(field, "is not a number");
    return value;
  }
  [[nodiscard]] JsonLine object(std::string_view field) const {
    simdjson::dom::element value;
    if (object_[field].get(value) != simdjson::SUCCESS || !value.is_object()) fail(field, "is missing or not an object");
    return {file_, line_, value};
  }
  [[nodiscard]] simdjson::dom::element element() const { return object_; }
  [[nodiscard]] std::size_t line() const { return line_; }

 private:
  std::string_view file_;
  std::size_t line_;
  simdjson::dom::element object_;
};

/// Calls `take` with every object of a JSONL file until it returns false. Blank lines, a byte-order mark and CRLF are let
/// pass. Throws InputError for a file that is missing or empty and for a line that is not a JSON object.
inline void for_each_line(const std::string& path, const std::function<bool(const JsonLine&)>& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path, 0, "", "cannot be read");
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
      throw InputError(path, line, "", bytes ? "holds bytes that are not UTF-8" : std::string("is not JSON: ") + simdjson::error_message(error));
    }
    if (!element.is_object()) throw InputError(path, line, "", "is not a JSON object");
    ++objects;
    if (!take(JsonLine(path, line, element))) return;
  }
  if (objects == 0) throw InputError(path, 0, "", "is empty");
}

}  // namespace espalier::output
