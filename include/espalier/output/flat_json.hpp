#pragma once

#include <espalier/core/error.hpp>
#include <espalier/output/append_json.hpp>

#include <simdjson.h>

#include <map>
#include <span>
#include <string>
#include <utility>

namespace espalier::output {

/// The members of a JSON file's object and of the objects in it, by dotted name ("search.k" -> "3"), values as compact
/// JSON. Throws InputError that names the file.
inline std::map<std::string, std::string> read_flat_json(const std::string& path) {
  std::map<std::string, std::string> fields;
  const auto visit = [&](const auto& self, simdjson::dom::object object, const std::string& prefix) -> void {
    for (const auto field : object) {
      const std::string name = prefix + std::string(field.key);
      simdjson::dom::object inner;
      if (field.value.get(inner) == simdjson::SUCCESS) {
        self(self, inner, name + ".");
      } else {
        JsonWriter json(fields[name] = "");
        append_json(json, field.value);
      }
    }
  };
  try {
    simdjson::dom::parser parser;
    visit(visit, parser.load(path).get_object(), "");
  } catch (const simdjson::simdjson_error& error) {
    throw InputError(path, 0, "", error.what());
  }
  return fields;
}

/// Appends an object of fields in dotted names with values as JSON, the way read_flat_json() reads them; those of one group
/// stand side by side.
inline void append_flat_json(std::string& out, std::span<const std::pair<std::string, std::string>> fields) {
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
}

}  // namespace espalier::output
