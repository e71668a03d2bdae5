#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/llm/unicode.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

/// What a user adds to the requests to a model.
namespace espalier::backend::detail {

/// True for names that end as those of credentials do, in any case, in the plural too, whatever stands between their
/// letters: api_key, X-Api-Keys, hfToken2, Authorization. False for max_tokens, bos_token, prompt_cache_key.
inline bool names_credential(std::string_view name) {
  constexpr std::string_view ends[] = {"token",      "key",    "secret",        "password", "passwd", "passphrase",
                                       "credential", "bearer", "authorization", "auth",     "cookie", "pwd",
                                       "signature",  "jwt"};
  constexpr std::string_view others[] = {"bostoken",     "eostoken",   "padtoken",  "unktoken",   "septoken",
                                         "clstoken",     "masktoken",  "stoptoken", "starttoken", "endtoken",
                                         "specialtoken", "imagetoken", "cachekey"};
  std::string plain;
  for (const char c : name)
    if (const char small = static_cast<char>(c | 0x20); small >= 'a' && small <= 'z') plain += small;
  if (plain.ends_with('s') && !plain.ends_with("tokens")) plain.pop_back();
  const auto ended = [&](std::string_view end) { return plain.ends_with(end); };
  return std::ranges::any_of(ends, ended) && std::ranges::none_of(others, ended);
}

/// Throws std::invalid_argument for text under a credential's name, however deep below it, or in the form of one. The
/// message names the field and shows no value. What a JSON schema declares, an object in such a place, is accepted.
inline void refuse_credentials(std::string_view name, simdjson::dom::element value) {
  const bool secret = names_credential(name);
  const bool declares = name == "properties" || name == "$defs" || name == "definitions";
  if (simdjson::dom::object object; !value.get(object))
    for (const auto& [inner, of_inner] : object)
      refuse_credentials(secret ? name : declares && of_inner.is_object() ? "" : inner, of_inner);
  else if (simdjson::dom::array array; !value.get(array))
    for (const auto item : array) refuse_credentials(name, item);
  else if (std::string_view text;
           !value.get(text) && (secret || text.starts_with("Bearer ") || (text.starts_with("sk-") && text.size() > 15)))
    throw std::invalid_argument("option 'extra_body' has a credential, the field '" + std::string(name) +
                                "', and runs and journals keep what is in it: "
                                "put keys into the environment (OPENAI_API_KEY) or a file (--api-key-file)");
}

/// The fields that a user adds to requests, valid until the reader's next text. Throws std::invalid_argument for text
/// that is not a JSON object and for credentials, because runs and journals keep the text. The message shows no value.
inline simdjson::dom::object read_extra_body(JsonReader& json, std::string text) {
  const auto root = json.parse(text);
  if (!root) throw std::invalid_argument("option 'extra_body' is not JSON, allowed: a JSON object");
  simdjson::dom::object object;
  if (root->get(object)) throw std::invalid_argument("option 'extra_body' is not a JSON object");
  refuse_credentials("", *root);
  return object;
}

/// Throws like read_extra_body. Accepts "".
inline void check_extra_body(const std::string& text) {
  JsonReader json;
  if (!text.empty()) (void)read_extra_body(json, text);
}

/// What a reasoning model is asked for: "" = its own default, "on", "off", or the most tokens of a thought.
class Thinking {
 public:
  /// Throws std::invalid_argument for any other text.
  explicit Thinking(const std::string& option) : on_(option != "off"), asked_(!option.empty()) {
    if (option.empty() || option == "on" || option == "off") return;
    const char* end = option.data() + option.size();
    const auto [last, error] = std::from_chars(option.data(), end, budget_);
    if (error != std::errc() || last != end || budget_ <= 0)
      bad_option("thinking", option, "on, off, or 1 or more tokens");
  }
  [[nodiscard]] bool asked() const { return asked_; }
  /// The tokens of a thought, on top of those of the reply. 0 = no limit of its own.
  [[nodiscard]] int budget() const { return budget_; }

  /// Sets the fields of a chat request. Throws BackendError (permanent) for what this kind of server does not support.
  void write(JsonFields& fields, const Dialect& dialect) const {
    if (!asked_) return;
    const std::string flag = on_ ? "true" : "false", budget = std::to_string(budget_);
    const bool inside = dialect.server == Server::sglang && budget_ > 0;
    const bool ollama = dialect.server == Server::ollama, openai = dialect.server == Server::openai;
    if (dialect.server == Server::other) throw refusal(dialect, "thinking", "the name of the field is not known there");
    if (budget_ > 0 && (ollama || openai))
      throw refusal(dialect, "a number of thinking tokens",
                    ollama ? "it knows on and off alone" : "it knows degrees of effort alone");
    if (ollama) return void(fields.set_json("think", flag));
    if (openai) return void(fields.set("reasoning_effort", std::string_view(on_ ? "medium" : "none")));
    fields.set_json("chat_template_kwargs",
                    "{\"enable_thinking\":" + flag + (inside ? ",\"thinking_budget\":" + budget : "") + '}');
    if (budget_ > 0 && !inside)
      fields.set(dialect.server == Server::vllm ? "thinking_token_budget" : "thinking_budget_tokens", budget_);
  }

 private:
  bool on_, asked_;
  int budget_ = 0;
};

/// Tells routers which requests are of one question: by a header "NAME:TEMPLATE", or a field "NAME=TEMPLATE". There
/// `{question}` becomes 16 hexadecimal digits, a hash of the run's seed and the question's id.
class Session {
 public:
  /// "" = none. Throws std::invalid_argument for what cannot be sent, or is sent already, as by an `extra_body`.
  explicit Session(const std::string& option, const std::string& extra_body = "") {
    if (option.empty()) return;
    constexpr std::string_view letters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    const auto inside = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    const std::size_t end = std::min(option.find_first_not_of(letters), option.size() - 1);
    name_ = option.substr(0, end + 1);  // with its sign
    text_ = option.substr(end + 1);
    const bool split = end > 0 && (option[end] == ':' || option[end] == '=');
    if (!split || !std::ranges::all_of(text_, inside) || text_.find(slot) == text_.npos)
      bad_option("session", option, "NAME:TEMPLATE for a header, NAME=TEMPLATE for a field, with {question}");
    if (taken.find(' ' + espalier::detail::to_lower(option.substr(0, end)) + ' ') != taken.npos)
      throw std::invalid_argument("option 'session' names '" + option.substr(0, end) +
                                  "', which requests have already: choose another, such as X-Session-Id or user");
    JsonReader json;
    if (option[end] == '=' && !extra_body.empty() && !read_extra_body(json, extra_body)[option.substr(0, end)].error())
      throw std::invalid_argument("option 'session' names '" + option.substr(0, end) +
                                  "', which 'extra_body' has too: leave one of them out");
  }
  /// Marks the body of a message, a JSON object with other fields, or returns a header for it. Question 0 has neither.
  std::string mark(std::string& body, std::uint64_t question) const {
    if (name_.empty() || question == 0) return "";
    std::string text = text_;
    for (std::size_t at = 0; (at = text.find(slot)) != text.npos;)
      text.replace(at, slot.size(), Hash{0, question}.hex().substr(16));
    if (name_.back() == ':') return name_ + text;
    body.insert(1, '"' + name_.substr(0, name_.size() - 1) + "\":\"" + text + "\",");
    return "";
  }

 private:
  static constexpr std::string_view slot = "{question}";
  /// Headers that mean something to every server, and the fields of the bodies that openai_request.hpp writes.
  static constexpr std::string_view taken =
      " accept accept-encoding api-key authorization connection content-encoding content-length content-type cookie"
      " expect host keep-alive proxy-authorization te trailer transfer-encoding upgrade user-agent x-api-key"
      " model messages prompt n seed stream stream_options stop temperature top_p top_k min_p max_tokens"
      " max_completion_tokens num_predict repetition_penalty repeat_penalty logprobs top_logprobs tools tool_choice"
      " parallel_tool_calls skip_special_tokens return_token_ids return_meta_info continue_final_message options raw"
      " add_generation_prompt truncate shift format ebnf grammar response_format structured_outputs think"
      " reasoning_effort chat_template_kwargs thinking_budget_tokens thinking_token_budget ";
  std::string name_, text_;
};

}  // namespace espalier::backend::detail
