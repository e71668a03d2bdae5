#pragma once

#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// True for names of credentials, in any case and with '-', '_' or nothing between their words: api_key, X-Api-Key,
/// azureApiKey, Authorization. False for max_tokens or stop_token_ids.
inline bool names_credential(std::string_view name) {
  constexpr std::array<std::string_view, 12> ends = {"apikey",      "accesskey", "secretkey",   "privatekey",
                                                     "accesstoken", "authtoken", "bearertoken", "authorization",
                                                     "credentials", "password",  "secret",      "cookie"};
  std::string plain;
  for (const char c : name)
    if (c != '-' && c != '_') plain += c >= 'A' && c <= 'Z' ? char(c | 0x20) : c;
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return plain.ends_with(end); });
}

/// Throws std::invalid_argument for text under a credential's name at any depth. The message names the field and shows
/// no value. An object with that name, as in a JSON schema, is accepted.
inline void refuse_credentials(std::string_view name, simdjson::dom::element value) {
  simdjson::dom::object object;
  simdjson::dom::array array;
  if (!value.get(object))
    for (const auto& [inner, of_inner] : object) refuse_credentials(inner, of_inner);
  else if (!value.get(array))
    for (const auto item : array) refuse_credentials(name, item);
  else if (value.is_string() && names_credential(name))
    throw std::invalid_argument("option 'extra_body' has a credential, the field '" + std::string(name) +
                                "', and runs and journals keep what is in it: "
                                "put keys into the environment (OPENAI_API_KEY) or a file (--api-key-file)");
}

/// The fields that a user adds to requests, valid until the reader's next text. Throws std::invalid_argument for text
/// that is not a JSON object and for credentials, because runs and journals keep the text. The message shows no value.
inline simdjson::dom::object read_extra_body(JsonReader& json, std::string text) {
  simdjson::dom::element root;
  try {
    root = json.read(text);
  } catch (const BackendError&) {
    throw std::invalid_argument("option 'extra_body' is not JSON, allowed: a JSON object");
  }
  simdjson::dom::object object;
  if (root.get(object)) throw std::invalid_argument("option 'extra_body' is not a JSON object");
  refuse_credentials("", root);
  return object;
}

/// Throws like read_extra_body. Accepts "".
inline void check_extra_body(const std::string& text) {
  JsonReader json;
  if (!text.empty()) (void)read_extra_body(json, text);
}

}  // namespace espalier::backend::detail
