#pragma once

#include <espalier/core/error.hpp>
#include <espalier/output/detail/append_json.hpp>

#include <simdjson.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::output::detail {

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
    visit(visit, parser.load(path).get_object(), "");
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

/// Appends an object from such fields, as they are read. Fields of one group must be adjacent.
inline void append_flat_json(std::string& out, const FlatFields& fields) {
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

}  // namespace espalier::output::detail
