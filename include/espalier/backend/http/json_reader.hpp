#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/utf8.hpp>
#include <espalier/llm/passage.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Drops a byte order mark, and writes U+FFFD for what JSON text may not hold: bytes that are not UTF-8, and escapes of
/// half a surrogate pair. Returns how many. `marked`: code points that no text has stand for them, for join_marked().
inline std::size_t repair_json(std::string& text, bool marked = false) {
  std::size_t bad = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (!simdjson::validate_utf8(text)) {
    std::string valid;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t length = espalier::detail::utf8_sequence(text, i);
      if (length) valid.append(text, i, length);
      else espalier::detail::append_utf8(valid, marked ? 0x10FF00u | static_cast<unsigned char>(text[i]) : 0xFFFDu);
      bad += length == 0;
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
    else if (!high && !surrogate(at, "cdefCDEF")) at += 2;
    else text.replace(at + (marked ? 0 : 2), marked ? 2 : 4, marked ? "\xF4\x8F\x80\x80" : "fffd"), at += 6, ++bad;
  }
  return bad;
}

/// Parses replies. The whole text is checked, not only the parts that are read, so that a damaged reply never passes.
class JsonReader {
 public:
  /// The root of `text`, valid until the next call. Nothing if it is not JSON. Pads the text.
  std::optional<simdjson::dom::element> parse(std::string& text) {
    const std::size_t size = text.size();
    text.append(simdjson::SIMDJSON_PADDING, '\0');
    simdjson::dom::element root;
    const auto error = parser_.parse(text.data(), size, false).get(root);
    text.resize(size);
    return error ? std::nullopt : std::optional(root);
  }
  /// The same. Throws BackendError (transport) for other text.
  simdjson::dom::element read(std::string& text) {
    if (const auto root = parse(text)) return *root;
    throw BackendError(text.empty() ? "the reply is empty" : "the reply is not JSON");
  }

 private:
  simdjson::dom::parser parser_;
};

/// Joins characters that were cut between pieces of a reply. What stays broken becomes U+FFFD. Returns how many.
inline std::size_t join_marked(std::string& text) {
  if (text.find("\xF4\x8F") == std::string::npos) return 0;
  std::string marked, json;
  JsonWriter(marked).value(text);
  for (std::size_t i = 0; i < marked.size();) {
    const char32_t point = espalier::detail::decode_utf8(marked, i);
    if (point > 0x10FF00) json += static_cast<char>(point & 0xFF);
    else if (point == 0x10F000) json += "\\u";
    else espalier::detail::append_utf8(json, point);
  }
  const std::size_t bad = repair_json(json);
  JsonReader reader;
  std::string_view joined;
  if (const auto root = reader.parse(json); root && !root->get(joined)) text = joined;
  return bad;
}

/// The value of `name`, if `object` is an object that has it as a T.
template <class T>
std::optional<T> field(simdjson::dom::element object, std::string_view name) {
  T value;
  if (object[name].get(value)) return std::nullopt;
  return value;
}

/// The value of the first of `names` that `object` has as a T.
template <class T, class Names = std::initializer_list<std::string_view>>
std::optional<T> first_field(simdjson::dom::element object, const Names& names) {
  for (const std::string_view name : names)
    if (const auto found = field<T>(object, name)) return found;
  return std::nullopt;
}

/// A text as it stands, any other value as JSON.
inline std::string text_or_json(simdjson::dom::element value) {
  return value.is_string() ? std::string(std::string_view(value)) : simdjson::minify(value);
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
  JsonFields& set(std::string_view name, const auto& value) {
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
