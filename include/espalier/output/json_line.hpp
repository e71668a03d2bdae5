#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/file_bytes.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <istream>
#include <new>
#include <span>
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
  /// The first of the names that the row has, or the first of all.
  [[nodiscard]] std::string_view first_of(std::span<const std::string_view> names) const {
    const auto found = std::find_if(names.begin(), names.end(), [this](std::string_view name) { return has(name); });
    return found == names.end() ? names.front() : *found;
  }
  /// A required field of type T: string_view, double, uint64_t, bool, dom::array or dom::object. `sort` is for errors.
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

/// The field of the first number in a line that no reader of JSON takes, and what is said of it. "" = none.
inline std::pair<std::string, std::string> no_number(std::string_view line) {
  std::string field, text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t start = i;
    if (line[i] == ':') field = text;
    if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) i += line[i] == '\\';
      text = line.substr(start + 1, i - start - 1);
    } else if (std::string_view("+-0123456789NnIi").find(line[i]) != std::string_view::npos) {
      i = std::min(line.find_first_of(",]} \t\r:\"", i), line.size()) - 1;
      const std::string number(line.substr(start, i + 1 - start));
      char* end = nullptr;
      const double value = std::strtod(number.c_str(), &end);
      const bool whole = number.find_first_not_of("-0123456789") == number.npos;
      const char* infinite = std::isdigit(static_cast<unsigned char>(number.back())) ? " (infinity)" : "";
      if (*end == '\0' && (whole ? value >= 0x1p64 || value <= -0x1p63 : !std::isfinite(value)))
        return {field,
                whole ? "a number of more than 64 bits: write it as a text" : number + infinite + ", which is no JSON"};
    }
  }
  return {};
}

/// Makes JSON of a line of tab-separated values, by the names in the first, which becomes "". Throws InputError.
inline void tsv_to_json(std::string& line, std::vector<std::string>& header, const std::string& path, std::size_t at) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool quote = line[i] == '"';
    if (quote && quoted && i + 1 < line.size() && line[i + 1] == '"') cells.back() += line[++i];
    else if (quote && (quoted || i == 0 || line[i - 1] == '\t')) quoted = !quoted;
    else if (line[i] == '\t' && !quoted) cells.emplace_back();
    else cells.back() += line[i];
  }
  if (quoted) throw InputError(path, at, "", "holds a quote that is not closed in its line");
  if (!simdjson::validate_utf8(line)) throw InputError(path, at, "", "holds bytes that are not UTF-8");
  line.clear();
  if (header.empty()) {
    for (auto cell = cells.begin(); cell != cells.end(); ++cell)
      if (!cell->empty() && std::find(cells.begin(), cell, *cell) != cell)
        throw InputError(path, at, *cell, "names two columns");
    return header.swap(cells);
  }
  if (cells.size() != header.size())
    throw InputError(path, at, "",
                     "has " + std::to_string(cells.size()) + " cells, the header has " + std::to_string(header.size()));
  JsonWriter json(line);
  json.begin_object();
  for (std::size_t i = 0; i < cells.size(); ++i) json.field(header[i], cells[i]);
  json.end_object();
}

/// Calls `take` with every object of a stream of JSON lines, or with every row of a stream that is called .tsv, until
/// it returns false. Errors call the stream `path`. Blank lines, a byte-order mark and CRLF are accepted. Throws
/// InputError for a line that is no object, a million blank lines in a row, and a stream that fails or has no object.
inline void for_each_line(std::istream& file, const std::string& path,
                          const std::function<bool(const JsonLine&)>& take) {
  simdjson::dom::parser parser;
  std::string text;
  std::vector<std::string> header;
  std::string name = path;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool tsv = name.ends_with(".tsv") || name.ends_with(".tsv.gz");
  std::size_t line = 0, objects = 0, blank = 0;
  while (std::getline(file, text)) {
    ++line;
    if (line == 1 && (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") || text.find('\0') < 2))
      throw InputError(path, 1, "", "is UTF-16, must be UTF-8");
    if (line == 1 && text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    blank = text.find_first_not_of(" \t\r") == std::string::npos ? blank + 1 : 0;
    if (blank == 1'000'000) throw InputError(path, 0, "", "holds 1,000,000 blank lines in a row");
    if (blank > 0) continue;
    if (tsv) tsv_to_json(text, header, path, line);
    if (text.empty()) continue;
    simdjson::dom::element element;
    if (const auto error = parser.parse(text).get(element)) {
      if (error == simdjson::MEMALLOC) throw std::bad_alloc();
      const auto [field, number] = no_number(text);
      if (!number.empty()) throw InputError(path, line, field, "holds " + number);
      if (error == simdjson::UTF8_ERROR) throw InputError(path, line, "", "holds bytes that are not UTF-8");
      const bool object = text.find('{') != std::string::npos;
      const char* why = object ? simdjson::error_message(error) : "each line must be an object, {\"id\": ...}";
      throw InputError(path, line, "", std::string("is not JSON: ") + why);
    }
    if (!element.is_object()) throw InputError(path, line, "", "is not a JSON object");
    ++objects;
    if (!take(JsonLine(path, line, element))) return;
  }
  if (file.bad()) throw InputError(path, line + 1, "", "cannot be read");
  if (objects == 0) throw InputError(path, 0, "", header.empty() ? "is empty" : "holds a header and no rows");
}

/// The same for a file, plain or .gz. Throws InputError if it is missing.
inline void for_each_line(const std::string& path, const std::function<bool(const JsonLine&)>& take) {
  FileStream file(path);
  for_each_line(file, path, take);
}

}  // namespace espalier::output::detail
