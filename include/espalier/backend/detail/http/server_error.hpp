#pragma once

#include <espalier/backend/detail/http/error_words.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
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

/// The error in a reply: {"error":{message,code,type}}, {"error":text,"error_type"}, {"object":"error",message,...}, a
/// status or code of 400 to 599 or like "failed" ("incomplete" where no length ended it), {"success":false},
/// {"is_error":true}, MiniMax's {"base_resp":{status_code,status_msg}} with another code than 0. If the reply is known
/// to be an error, also {"message":text}, {"detail":...} and {"msg":text}. Else inner objects are looked into too,
/// those `aside` of choices and messages for {"error":object or text} alone.
inline std::optional<ServerError> find_error(simdjson::dom::element root, bool failed, bool aside = false) {
  const auto text = [](simdjson::dom::element object, std::string_view name) {
    const auto value = field<simdjson::dom::element>(object, name);
    return value && !value->is_null() ? text_or_json(*value) : std::string();
  };
  const auto described = [&](simdjson::dom::element object) {
    ServerError found{text(object, "message"), text(object, "code"), text(object, "type")};
    const std::string field = text(object, "param");
    if (!found.message.empty() && found.message.find(field) == std::string::npos) found.message += " (" + field + ")";
    return found;
  };
  static constexpr std::string_view no_errors[] = {"", "false", "False", "0", "{}", "[]", "null", "none", "None"};
  for (const char* name : {"error", "errors", "Error", "error_message", "error_msg", "failed", "failure", "is_error",
                           "isError", "has_error", "hasError"}) {
    const std::string shown = text(root, name);  // some gateways send one of no_errors beside a good reply
    if (std::ranges::count(no_errors, shown) > 0) continue;
    if (shown == "true" || shown == "True" || shown == "1") {  // a flag: what it was stands elsewhere
      failed = failed || !aside;
      continue;
    }
    if (root[name].is_object()) return described(root[name].value());
    if (!aside || root[name].is_string()) return ServerError{shown, text(root, "code"), text(root, "error_type")};
  }
  simdjson::dom::element base;
  const std::string state = root["base_resp"].get(base) ? "" : text(base, "status_code");
  if (!state.empty() && state != "0") return ServerError{text(base, "status_msg"), state, ""};
  bool cut = false;  // by its length
  for (const char* place : {"/choices/0/finish_reason", "/finish_reason", "/done_reason"})
    if (std::string_view ending; !root.at_pointer(place).get(ending)) cut = cut || ending == "length";
  for (const char* name : {"object", "type", "status", "state", "task_status", "code", "success", "ok"}) {
    const std::string shown = text(root, name);
    int status = 0;
    std::from_chars(shown.data(), shown.data() + shown.size(), status);
    const bool denied = shown == "false" || shown == "False" || (shown == "0" && has_any(name, {"success", "ok"}));
    const bool told = says_failed(shown) && !(cut && shown == "incomplete");
    failed = failed || (!aside && (denied || told || (status >= 400 && status < 600)));
  }
  if (simdjson::dom::object all; !failed && !root.get(all))
    for (const auto [key, value] : all)
      if (value.is_object() && key.find("filter_result") == key.npos)  // Azure's filters may fail beside a good reply
        if (auto inner = find_error(value, false, aside || (key != "message" && key != "delta" && key != "status")))
          return inner;
  if (!failed) return std::nullopt;
  ServerError found = described(root);
  if (found.message.empty() || root["message"].is_object())  // Ollama's message is the answer
    found.message = text(root, "detail") + text(root, "msg");
  if (found.code.empty()) found.code = text(root, "status");
  return found;
}

/// Whether a failure is tried again (docs page "contracts"), by its HTTP status, its code and its words, which are
/// those of OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI, TensorRT-LLM and gateways. Under 2xx, a numeric code stands
/// for the status, and what has neither a code nor words of an end is tried again.
inline BackendError::Kind failure_kind(long status, const ServerError& error) {
  using Kind = BackendError::Kind;
  const std::string said = error.code + ' ' + error.type + ' ' + error.message;
  int code = 0;
  std::from_chars(error.code.data(), error.code.data() + error.code.size(), code);
  if (status / 100 == 2 && code >= 400 && code < 600) status = code;
  const bool apart = status == 401 || status == 403 || status == 404 || status == 429 || status > 500;  // by code alone
  if (says_too_long(error.code + ' ' + error.type, apart ? "" : said)) return Kind::too_long;
  if (has_any(said, {"insufficient_quota", "exceeded your current quota", "content management policy"}) ||
      has_any(error.code + error.type, {"content_filter", "data_inspection", "datainspection"}))  // a filter refused it
    return Kind::permanent;
  if (status / 100 != 2)
    return status == 408 || status == 409 || status == 429 || status >= 500 ? Kind::transport : Kind::permanent;
  const bool last = has_any(
      said, {"badrequesterror", "notfounderror", "authentication_error", "permission_error", "invalid_request_error",
             "invalid_api_key", "invalid api key", "model_not_found", "not_found_error", "not found", "does not exist",
             "unauthorized", "not supported", "insufficient balance", "new_sensitive", "login fail", "invalid params"});
  return last ? Kind::permanent : Kind::transport;
}

/// The failure that a reply with a bad status is. `root`: its body as JSON, `text`: what it is where it is none.
inline BackendError status_error(long status, const std::optional<simdjson::dom::element>& root,
                                 const std::string& text = "") {
  ServerError error = root ? *find_error(*root, true) : ServerError{text, "", ""};
  if (root && error.message.empty()) error.message = simdjson::minify(*root);  // plain escapes, so keys are found
  if (status / 100 == 3) error.message = "redirects are not followed";
  return BackendError("HTTP " + std::to_string(status) + (error.message.empty() ? "" : ": " + error.message),
                      failure_kind(status, error));
}

/// A failure that comes as a reply with a good status: the server says that it failed, or does not say that it is done.
/// Unlike damage, it is tried again however often it comes, unless its code or words are those of an end.
struct FailedReply : BackendError {
  explicit FailedReply(const std::string& what, const std::string& code = "", const std::string& type = "")
      : BackendError(what, failure_kind(200, {what, code, type})) {}
};

/// Throws FailedReply if a reply with status 200 is an error. `failed`: it is known to be one.
inline void throw_if_error(simdjson::dom::element root, bool failed = false) {
  const auto error = find_error(root, failed);
  if (!error) return;
  std::string what = error->message;
  for (const std::string& other : {error->code, error->type, std::string("it does not say which")})
    if (what.empty()) what = other;
  throw FailedReply("the reply is an error: " + what, error->code, error->type);
}

}  // namespace espalier::backend::detail
