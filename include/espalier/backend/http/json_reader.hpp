#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/llm/passage.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Drops a byte order mark, and writes U+FFFD for what JSON text may not hold: bytes that are not UTF-8, and escapes of
/// half a surrogate pair. True if there were such.
inline bool repair_json(std::string& text) {
  bool damaged = false;
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (!simdjson::validate_utf8(text)) {
    damaged = true;
    std::string valid;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t length = espalier::detail::utf8_sequence(text, i);
      if (length) valid.append(text, i, length);
      else valid.append("\xEF\xBF\xBD");
      i += length ? length : 1;
    }
    text = std::move(valid);
  }
  // "\ud8xx" ... "\udbxx" or "\udcxx" ... "\udfxx"
  const auto surrogate = [&](std::size_t at, std::string_view third) {
    return text.size() - at >= 6 && text[at] == '\\' && text[at + 1] == 'u' && (text[at + 2] | 0x20) == 'd' &&
           third.find(text[at + 3]) != std::string_view::npos;
  };
  for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const bool high = surrogate(at, "89abAB");
    if (high && surrogate(at + 6, "cdefCDEF")) at += 12;
    else if (high || surrogate(at, "cdefCDEF")) text.replace(at + 2, 4, "fffd"), at += 6, damaged = true;
    else at += 2;
  }
  return damaged;
}

/// Parses replies. The whole text is checked, not only the parts that are read, so that a damaged reply never passes.
class JsonReader {
 public:
  /// The root of `text`, valid until the next call. Pads the text. Throws BackendError (transport).
  simdjson::dom::element read(std::string& text) {
    const std::size_t size = text.size();
    text.append(simdjson::SIMDJSON_PADDING, '\0');
    simdjson::dom::element root;
    const auto error = parser_.parse(text.data(), size, false).get(root);
    text.resize(size);
    if (error) throw BackendError(size ? "the reply is not JSON" : "the reply is empty");
    return root;
  }

 private:
  simdjson::dom::parser parser_;
};

/// The value of `name`, if `object` is an object that has it as a T.
template <class T>
std::optional<T> field(simdjson::dom::element object, std::string_view name) {
  T value;
  if (object[name].get(value)) return std::nullopt;
  return value;
}

/// An embedding as a list of numbers. Throws BackendError (transport) if it is empty or no list of floats.
inline Embedding read_embedding(simdjson::dom::element value) {
  Embedding embedding;
  simdjson::dom::array numbers;
  if (value.get(numbers)) throw BackendError("an embedding that is no list");
  for (const auto item : numbers) {
    double number = 0;
    if (item.get(number) || std::abs(number) > std::numeric_limits<float>::max())
      throw BackendError("an embedding with something else than floats");
    embedding.push_back(static_cast<float>(number));
  }
  if (embedding.empty()) throw BackendError("an empty embedding");
  return embedding;
}

/// The fields of a JSON object under construction, in order. A field can still be replaced or removed.
class JsonFields {
 public:
  /// Sets a field to a string, a number, a flag or a list.
  template <class T>
  JsonFields& set(std::string_view name, const T& value) {
    std::string json;
    JsonWriter out(json);
    if constexpr (requires { out.value(value); }) out.value(value);
    else out.array(value);
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
