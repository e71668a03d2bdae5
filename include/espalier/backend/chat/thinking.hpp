#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace espalier::backend::detail {

/// What a reasoning model is asked for: "" = its own default, "on", "off", or the number of tokens that a thought may
/// have.
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

  /// Sets the fields of a chat request. Throws BackendError (permanent) for something that this kind of server does not
  /// support.
  void write(JsonFields& fields, const Dialect& dialect) const {
    if (!asked_) return;
    const std::string flag = on_ ? "true" : "false", budget = std::to_string(budget_);
    const bool inside = dialect.server == Server::sglang && budget_ > 0;
    switch (dialect.server) {
      case Server::vllm:
      case Server::sglang:
      case Server::llamacpp:
        fields.set_json("chat_template_kwargs",
                        "{\"enable_thinking\":" + flag + (inside ? ",\"thinking_budget\":" + budget : "") + '}');
        if (budget_ > 0 && !inside)
          fields.set(dialect.server == Server::vllm ? "thinking_token_budget" : "thinking_budget_tokens", budget_);
        return;
      case Server::ollama:
        if (budget_ > 0) throw refusal(dialect, "a number of thinking tokens", "it knows on and off alone");
        fields.set_json("think", flag);
        return;
      case Server::openai:
        if (budget_ > 0) throw refusal(dialect, "a number of thinking tokens", "it knows degrees of effort alone");
        fields.set("reasoning_effort", std::string_view(on_ ? "medium" : "none"));
        return;
      case Server::other:
        throw refusal(dialect, "thinking", "the name of the field is not known there");
    }
  }

 private:
  bool on_, asked_;
  int budget_ = 0;
};

}  // namespace espalier::backend::detail
