#pragma once

#include <espalier/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend {

/// Kinds of language-model servers.
enum class Server : std::uint8_t { other, vllm, sglang, llamacpp, ollama, openai };

namespace detail {

/// What a kind of server supports and what its answers mean: one row of the table in docs/servers.md. A field that a
/// row does not allow is never sent. It is emulated (n), or the request is refused by name.
struct Dialect {
  /// The meaning of the log-probability of a sampled token.
  enum class Logprobs : std::uint8_t {
    unknown,  ///< unknown, or not available
    raw,      ///< from the model before temperature and filters
    scaled    ///< from the model after temperature. Equal to raw at temperature 0 (never scaled) and 1
  };
  /// How a last message of the assistant is continued.
  enum class Prefill : std::uint8_t {
    absent,     ///< it begins another message, or that depends on the model's template
    continued,  ///< the answer is only what follows
    repeated    ///< the answer may repeat the message first
  };

  Server server;
  std::string_view name;   ///< as options spell it
  std::string_view owner;  ///< "owned_by" in the answer to GET /models, "" = not given
  /// Completions per message, choice i with seed + i. 1 = n is emulated, 0 = as many as the server's slots.
  std::size_t max_n = 1;
  std::size_t max_stops = 0;                    ///< most stop strings of a request, 0 = no limit
  std::string_view chat_limit = "max_tokens";   ///< name of the token limit in /chat/completions
  std::optional<int> top_k_off = std::nullopt;  ///< value that switches top_k off, if it accepts top_k and min_p
  std::string_view penalty = {};                ///< name of the repetition penalty, sent as 1 (off), "" = none
  bool special_tokens = false;                  ///< accepts skip_special_tokens, sent as false so that tags are kept
  Logprobs logprobs = Logprobs::unknown;
  Prefill prefill = Prefill::absent;
  bool token_ids = false;         ///< accepts return_token_ids (counts per sample)
  bool ids = false;               ///< accepts a raw prompt as token ids
  bool tools = false;             ///< its chats offer tools and return calls of them
  std::string_view grammar = {};  ///< name of the field that constrains a reply, "" = none
  bool schemas = false;           ///< that field takes JSON schemas alone. Then the text is the member `reply`
};

inline constexpr std::array<Dialect, 6> dialects = {{
    {.server = Server::other, .name = "other", .owner = ""},
    {.server = Server::vllm,
     .name = "vllm",
     .owner = "vllm",
     .max_n = 128,
     .top_k_off = -1,
     .penalty = "repetition_penalty",
     .special_tokens = true,
     .logprobs = Dialect::Logprobs::raw,
     .prefill = Dialect::Prefill::continued,
     .token_ids = true,
     .ids = true,
     .tools = true,
     .grammar = "structured_outputs"},
    // Emulates n: under deterministic inference all choices of one message share a seed and are equal.
    {.server = Server::sglang,
     .name = "sglang",
     .owner = "sglang",
     .top_k_off = -1,
     .penalty = "repetition_penalty",
     .special_tokens = true,
     .logprobs = Dialect::Logprobs::scaled,
     .prefill = Dialect::Prefill::continued,
     .ids = true,
     .tools = true,
     .grammar = "ebnf"},
    // Several choices come in chunks, with a usage after each. Without chunks it counts the first one alone.
    {.server = Server::llamacpp,
     .name = "llamacpp",
     .owner = "llamacpp",
     .max_n = 0,
     .top_k_off = 0,
     .penalty = "repeat_penalty",
     .logprobs = Dialect::Logprobs::raw,
     .prefill = Dialect::Prefill::repeated,
     .ids = true,
     .tools = true,
     .grammar = "grammar"},
    // Uses its native routes (openai_request.hpp). "library" owns models that were not renamed.
    {.server = Server::ollama,
     .name = "ollama",
     .owner = "library",
     .chat_limit = "num_predict",
     .top_k_off = 0,
     .penalty = "repeat_penalty",
     .logprobs = Dialect::Logprobs::raw,
     .tools = true,
     .grammar = "format",
     .schemas = true},
    {.server = Server::openai,
     .name = "openai",
     .owner = "",
     .max_n = 128,
     .max_stops = 4,
     .chat_limit = "max_completion_tokens",
     .logprobs = Dialect::Logprobs::scaled,
     .ids = true,
     .tools = true,
     .grammar = "response_format",
     .schemas = true},
}};

inline const Dialect& dialect_of(Server server) { return dialects[static_cast<std::size_t>(server)]; }

/// The server with this name. Nothing for "auto". Throws std::invalid_argument for any other name.
inline std::optional<Server> server_named(std::string_view name) {
  std::string names = "auto";
  for (const Dialect& dialect : dialects) {
    if (dialect.name == name) return dialect.server;
    names.append(", ").append(dialect.name);
  }
  if (name != "auto") bad_option("server", name, names);
  return std::nullopt;
}

}  // namespace detail

}  // namespace espalier::backend
