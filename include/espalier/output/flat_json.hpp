#pragma once

#include <espalier/core/atomic_file.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/input_file.hpp>
#include <espalier/core/json_writer.hpp>

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::output::detail {

/// Appends a parsed value of this type. False if it has another one.
template <class T>
bool append_as(JsonWriter& json, simdjson::dom::element value) {
  T plain;
  if (value.get(plain) != simdjson::SUCCESS) return false;
  json.value(plain);
  return true;
}

/// Appends a parsed value as compact JSON. Values that a JsonWriter wrote come back byte for byte.
inline void append_json(JsonWriter& json, simdjson::dom::element value) {
  if (value.is_object()) {
    json.begin_object();
    for (const auto member : value.get_object()) append_json(json.key(member.key), member.value);
    json.end_object();
  } else if (value.is_array()) {
    json.begin_array();
    for (const simdjson::dom::element item : value.get_array()) append_json(json, item);
    json.end_array();
  } else if (value.is_null()) {
    json.null();
  } else if (!append_as<std::string_view>(json, value) && !append_as<bool>(json, value) &&
             !append_as<std::int64_t>(json, value) && !append_as<std::uint64_t>(json, value) &&
             !append_as<double>(json, value)) {
    throw std::logic_error("a JSON value of an unknown type");  // simdjson 4 has BIGINT, for parsers told to keep it
  }
}

/// Members of objects by dotted name ("search.k" -> "3"), with values as compact JSON.
using FlatFields = std::vector<std::pair<std::string, std::string>>;

/// Reads the members of a JSON file's object and of its inner objects, in order. Throws InputError that names the file.
inline FlatFields read_flat_fields(const std::string& path) {
  FlatFields fields;
  const auto visit = [&](const auto& self, simdjson::dom::object object, const std::string& prefix) -> void {
    for (const auto field : object) {
      const std::string name = prefix + std::string(field.key);
      simdjson::dom::object inner;
      if (field.value.get(inner) == simdjson::SUCCESS) {
        self(self, inner, name + ".");
      } else {
        JsonWriter json(fields.emplace_back(name, "").second);
        append_json(json, field.value);
      }
    }
  };
  try {
    simdjson::dom::parser parser;
    visit(visit, parser.parse(espalier::detail::read_input(path)).get_object(), "");
  } catch (const simdjson::simdjson_error& error) {
    throw InputError(path, 0, "", error.what());
  }
  return fields;
}

/// Reads the same for looking up. If two names are equal, the last one counts.
inline std::map<std::string, std::string> read_flat_json(const std::string& path) {
  std::map<std::string, std::string> fields;
  for (auto& [name, value] : read_flat_fields(path)) fields[name] = std::move(value);
  return fields;
}

/// Writes such fields as a file, whole or not at all. Fields of one group must be adjacent. Throws InputError.
inline void write_flat_json(const std::string& path, const FlatFields& fields) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  std::string open;
  for (const auto& [name, value] : fields) {
    const auto dot = name.find('.');
    const std::string group = dot == std::string::npos ? "" : name.substr(0, dot);
    if (group != open && !open.empty()) json.end_object();
    if (group != open && !group.empty()) json.key(group).begin_object();
    open = group;
    json.key(dot == std::string::npos ? name : name.substr(dot + 1)).raw(value);
  }
  if (!open.empty()) json.end_object();
  json.end_object();
  espalier::detail::AtomicFile file(path);
  file.write(out + '\n');
  file.commit();
}

inline std::string quoted(std::string_view text) {
  std::string json;
  JsonWriter(json).value(text);
  return json;
}

}  // namespace espalier::output::detail
