#pragma once

#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// A server's error in one form. Servers use several.
struct ServerError {
  std::string message;  ///< names the field that OpenAI calls `param`
  std::string code;     ///< "insufficient_quota", "429" ..., "" = none
  std::string type;     ///< "invalid_request_error" ..., "" = none
};

/// The error in a reply: {"error":{message,code,type}}, {"error":text,"error_type"}, {"object":"error",message,...}. If
/// the reply is known to be an error, also {"detail":...} and {"message":text}.
inline std::optional<ServerError> find_error(simdjson::dom::element root, bool failed) {
  const auto text = [](simdjson::dom::element object, std::string_view name) {
    simdjson::dom::element value;
    if (object[name].get(value) || value.is_null()) return std::string();
    std::string_view string;
    return value.get(string) ? std::string(simdjson::minify(value)) : std::string(string);
  };
  const auto described = [&](simdjson::dom::element object) {
    ServerError found{text(object, "message"), text(object, "code"), text(object, "type")};
    const std::string field = text(object, "param");
    if (!found.message.empty() && found.message.find(field) == std::string::npos) found.message += " (" + field + ")";
    return found;
  };
  simdjson::dom::element error;
  if (!root["error"].get(error) && !error.is_null()) {
    if (error.is_object()) return described(error);
    return ServerError{text(root, "error"), text(root, "code"), text(root, "error_type")};
  }
  if (text(root, "object") == "error") return described(root);
  if (!failed) return std::nullopt;
  ServerError found = described(root);
  if (found.message.empty()) found.message = text(root, "detail");
  return found;
}

/// Whether a failure with this HTTP status is retried (docs page "contracts").
inline BackendError::Kind failure_kind(long status, const ServerError& error) {
  using Kind = BackendError::Kind;
  if (error.code == "insufficient_quota" || error.type == "insufficient_quota") return Kind::permanent;
  return status == 408 || status == 409 || status == 429 || status >= 500 ? Kind::transport : Kind::permanent;
}

/// Throws BackendError if a reply with status 200 is an error. Its numeric code decides the kind, otherwise its name.
/// Errors with an unknown name are retried.
inline void throw_if_error(simdjson::dom::element root) {
  const auto error = find_error(root, false);
  if (!error) return;
  static constexpr std::array<std::string_view, 11> permanent = {
      "BadRequestError",           "NotFoundError",      "authentication_error", "context_length_exceeded",
      "exceed_context_size_error", "insufficient_quota", "invalid_api_key",      "invalid_request_error",
      "model_not_found",           "not_found_error",    "permission_error"};
  const auto named = [](const std::string& name) {
    return std::find(permanent.begin(), permanent.end(), name) != permanent.end();
  };
  int status = 0;
  std::from_chars(error->code.data(), error->code.data() + error->code.size(), status);
  auto kind = BackendError::Kind::transport;
  if (status >= 400 && status < 600) kind = failure_kind(status, *error);
  else if (named(error->code) || named(error->type)) kind = BackendError::Kind::permanent;
  throw BackendError("the reply is an error: " + (error->message.empty() ? error->code : error->message), kind);
}

}  // namespace espalier::backend::detail
