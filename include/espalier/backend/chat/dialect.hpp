#pragma once

#include <espalier/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend {

/// Sorts of language-model servers.
enum class Server : std::uint8_t { other, vllm, sglang, llamacpp, llamacpp_python, ollama, openai };

/// What a sort of server honours and what its answers mean: one row of the table in docs/servers.md. What a row does not
/// grant is never sent: it is emulated (n) or refused by name.
struct Dialect {
  /// What the log-probability of a sampled token is.
  enum class Logprobs : std::uint8_t {
    unknown,  ///< or absent
    raw,      ///< of the model before temperature and filters
    scaled    ///< of the model after temperature, so the model's own at temperature 0 (never scaled) and 1
  };
  /// How a chat's last message, the assistant's, is continued.
  enum class Prefill : std::uint8_t {
    absent,    ///< it begins another message, or that depends on the model's template
    continued, ///< the answer is what follows
    repeated   ///< the answer may begin with the message once more
  };

  Server server;
  std::string_view name;   ///< as options spell it
  std::string_view owner;  ///< "owned_by" in the answer to GET /models; "" = says nothing
  std::size_t max_n = 1;   ///< completions a message, choice i under seed + i; 1 = n is emulated
  std::size_t max_stops = 0;                    ///< 0 = no limit
  std::string_view chat_limit = "max_tokens";   ///< what /chat/completions calls it
  std::optional<int> top_k_off = std::nullopt;  ///< takes top_k, which this value switches off, and min_p
  std::string_view penalty = {};                ///< the repetition penalty, sent as 1 (off); "" = has none
  bool special_tokens = false;                  ///< takes skip_special_tokens, sent as false so that tags survive
  Logprobs logprobs = Logprobs::unknown;
  Prefill prefill = Prefill::absent;
  bool token_ids = false;                              ///< takes return_token_ids, which counts each sample's tokens by itself
  bool ids = false;                                    ///< takes a raw prompt as token ids
  bool streams = true;                                 ///< its streams tell usage at their end; others are not asked for
  std::optional<int> score_max_tokens = std::nullopt;  ///< scores a prompt by `echo` under this max_tokens
};

inline constexpr std::array<Dialect, 7> dialects = {{
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
     .score_max_tokens = 0},
    // Emulates n: under deterministic inference the choices of one message are drawn under one seed, and are equal.
    {.server = Server::sglang,
     .name = "sglang",
     .owner = "sglang",
     .top_k_off = -1,
     .penalty = "repetition_penalty",
     .special_tokens = true,
     .logprobs = Dialect::Logprobs::scaled,
     .prefill = Dialect::Prefill::continued,
     .ids = true,
     .score_max_tokens = 1},
    // Emulates n: its usage counts the first choice only. Echo is refused or answered with the wrong list.
    {.server = Server::llamacpp,
     .name = "llamacpp",
     .owner = "llamacpp",
     .top_k_off = 0,
     .penalty = "repeat_penalty",
     .logprobs = Dialect::Logprobs::raw,
     .prefill = Dialect::Prefill::repeated,
     .ids = true},
    // Its echo is one token off for models whose prompts begin without a mark of their own.
    {.server = Server::llamacpp_python,
     .name = "llamacpp-python",
     .owner = "me",
     .top_k_off = 0,
     .penalty = "repeat_penalty",
     .logprobs = Dialect::Logprobs::raw,
     .streams = false},
    // Spoken to on its native routes (openai_request.hpp). "library" owns the models that nobody renamed.
    {.server = Server::ollama,
     .name = "ollama",
     .owner = "library",
     .top_k_off = 0,
     .penalty = "repeat_penalty",
     .logprobs = Dialect::Logprobs::raw},
    {.server = Server::openai,
     .name = "openai",
     .owner = "",
     .max_n = 128,
     .max_stops = 4,
     .chat_limit = "max_completion_tokens",
     .logprobs = Dialect::Logprobs::scaled,
     .ids = true},
}};

inline const Dialect& dialect_of(Server server) { return dialects[static_cast<std::size_t>(server)]; }

/// The server of that name; nothing for "auto". Throws std::invalid_argument for any other name.
inline std::optional<Server> server_named(std::string_view name) {
  std::string names = "auto";
  for (const Dialect& dialect : dialects) {
    if (dialect.name == name) return dialect.server;
    names.append(", ").append(dialect.name);
  }
  if (name != "auto") bad_option("server", name, names);
  return std::nullopt;
}

}  // namespace espalier::backend
