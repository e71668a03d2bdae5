#pragma once

#include <espalier/core/error.hpp>
#include <espalier/output/append_json.hpp>

#include <simdjson.h>

#include <map>
#include <string>

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

}  // namespace espalier::output
