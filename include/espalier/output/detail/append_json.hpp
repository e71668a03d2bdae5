#pragma once

#include <espalier/core/json_writer.hpp>

#include <simdjson.h>

#include <stdexcept>

namespace espalier::output::detail {

/// Appends a parsed value as compact JSON. Values that a JsonWriter wrote come back byte for byte.
inline void append_json(JsonWriter& json, simdjson::dom::element value) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::OBJECT:
      json.begin_object();
      for (const auto member : value.get_object()) append_json(json.key(member.key), member.value);
      json.end_object();
      break;
    case element_type::ARRAY:
      json.begin_array();
      for (const simdjson::dom::element item : value.get_array()) append_json(json, item);
      json.end_array();
      break;
    case element_type::INT64:
      json.value(value.get_int64().value_unsafe());
      break;
    case element_type::UINT64:
      json.value(value.get_uint64().value_unsafe());
      break;
    case element_type::DOUBLE:
      json.value(value.get_double().value_unsafe());
      break;
    case element_type::STRING:
      json.value(value.get_string().value_unsafe());
      break;
    case element_type::BOOL:
      json.value(value.get_bool().value_unsafe());
      break;
    case element_type::NULL_VALUE:
      json.null();
      break;
    default:  // simdjson 4 has BIGINT, for parsers that are told to keep it
      throw std::logic_error("a JSON value of an unknown type");
  }
}

}  // namespace espalier::output::detail
