#pragma once

#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/core/json_writer.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The fields of a JSON object under construction, in order. A field can still be replaced or removed.
class JsonFields {
 public:
  /// Sets a field to a string, a number or a flag.
  template <class T>
  JsonFields& set(std::string_view name, const T& value) {
    std::string json;
    JsonWriter(json).value(value);
    return set_json(name, std::move(json));
  }
  /// Sets a field to text that is already JSON.
  JsonFields& set_json(std::string_view name, std::string json) {
    const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == name; });
    if (found != fields_.end()) found->second = std::move(json);
    else fields_.emplace_back(name, std::move(json));
    return *this;
  }
  void remove(std::string_view name) {
    std::erase_if(fields_, [&](const auto& f) { return f.first == name; });
  }
  /// "{" and the fields. The caller may add more after a comma, and closes the object.
  [[nodiscard]] std::string open_object() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    for (const auto& [name, value] : fields_) json.key(name).raw(value);
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace espalier::backend::detail
