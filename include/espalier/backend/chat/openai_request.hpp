#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/chat/user_fields.hpp>
#include <espalier/backend/detail/chat/grammar_field.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/detail/chat/tools.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/llm/prompt.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend::detail {

/// Writes bodies for /chat/completions, /completions or Ollama's own routes. What samples share is written once.
class OpenAiRequest {
 public:
  /// With `chat` false, prompts with roles are sent raw too, their messages joined by blank lines. Fields of
  /// `extra_body` ("" or a JSON object) replace the fields written here, and null removes one. A prompt's own extra
  /// fields take precedence. Throws std::invalid_argument if `extra_body` is not an object, holds a credential
  /// (user_fields.hpp) or sets model, messages, prompt, n, seed or stream.
  /// `stream`: replies come in chunks (reply.hpp). `thinking`: see Thinking, for chats alone.
  OpenAiRequest(std::string model, bool chat, std::string extra_body, bool stream = false,
                const std::string& thinking = "")
      : model_(std::move(model)),
        chat_(chat),
        stream_(stream),
        extra_body_(std::move(extra_body)),
        thinking_(thinking) {
    if (thinking_.asked() && !chat_) bad_option("thinking", thinking, "nothing where the server gets plain texts");
    JsonFields probe;
    merge(probe, extra_body_);
  }
  /// The most tokens of a completion, a thought included.
  [[nodiscard]] int limit(const PromptBody& body) const {
    return body.sampling.max_tokens + (chat(body) ? thinking_.budget() : 0);
  }
  /// False for token ids, and for one message without a role.
  [[nodiscard]] bool chat(const PromptBody& body) const {
    return chat_ && body.ids.empty() && !(body.messages.size() == 1 && body.messages[0].role.empty());
  }

  /// The body for samples of one prompt, starting at the first one's index. Sampled requests have the seed
  /// (prompt.seed() + sample) mod 2^31, which every server accepts. Greedy requests have none. Throws BackendError
  /// (permanent) for something that this kind of server does not support.
  [[nodiscard]] std::string write(std::span<const Prompt> samples, const Dialect& dialect) {
    const Prompt& first = samples.front();
    if (first.shared_body() != shared_ || dialect.server != server_) {
      refuse_unfit(first.body(), chat(first.body()), dialect);
      prefix_ = fields_of(first.body(), dialect);
      shared_ = first.shared_body();
      server_ = dialect.server;
    }
    std::string out;
    out.reserve(prefix_.size() + 32);
    out += prefix_;
    if (samples.size() > 1) (out += ",\"n\":") += std::to_string(samples.size());
    if (in_chunks(samples, dialect) && !stream_) (out += ",\"stream\":true,\"stream_options\":") += usage_in_chunks;
    if (!first.greedy()) (out += ",\"seed\":") += std::to_string((first.seed() + first.sample()) & 0x7fffffff);
    return out += dialect.server == Server::ollama ? "}}" : "}";
  }

  /// Whether the samples' choices come in chunks. llama.cpp counts and scores all tokens of each choice there alone.
  [[nodiscard]] bool in_chunks(std::span<const Prompt> samples, const Dialect& dialect) const {
    const bool apart = samples.size() > 1 || samples.front().sampling().logprobs;
    return stream_ || (apart && dialect.server == Server::llamacpp);
  }

 private:
  static constexpr const char* usage_in_chunks = R"({"include_usage":true})";

  /// All fields but n and the seed, up to where these belong: for Ollama's own routes that is in the open "options".
  [[nodiscard]] std::string fields_of(const PromptBody& body, const Dialect& dialect) {
    const bool native = dialect.server == Server::ollama;
    JsonFields fields = asked(body), options;
    set_sampling(native ? options : fields, body, dialect);
    if (chat(body)) thinking_.write(fields, dialect);
    if (native) set_native(fields, body);
    else set_common(fields, body, dialect);
    if (!body.sampling.grammar.empty()) fields.set_json(dialect.grammar, grammar_json(body, dialect));
    merge(fields, extra_body_, native ? &options : nullptr);
    merge(fields, body.sampling.extra_body, native ? &options : nullptr);
    return native ? fields.open_object() + ",\"options\":" + options.open_object() : fields.open_object();
  }
  [[nodiscard]] JsonFields asked(const PromptBody& body) const {
    JsonFields fields;
    fields.set("model", model_);
    if (chat(body)) fields.set_json("messages", messages(body));
    else if (!body.ids.empty()) fields.set("prompt", body.ids);
    else fields.set("prompt", joined(body));
    if (const auto tools = tools_of(body); !tools.empty()) fields.set_json("tools", tools_json(tools));
    return fields;
  }
  /// All filters and penalties are set, because a server may have defaults that are not neutral.
  void set_sampling(JsonFields& fields, const PromptBody& body, const Dialect& dialect) const {
    const Sampling& sampling = body.sampling;
    const bool limit_named = chat(body) || dialect.server == Server::ollama;
    fields.set("temperature", sampling.temperature).set("top_p", sampling.top_p);
    fields.set(limit_named ? dialect.chat_limit : "max_tokens", limit(body));
    if (!sampling.stop.empty() && !is_wrapped(body, dialect)) fields.set("stop", sampling.stop);
    if (dialect.top_k_off) {
      fields.set("top_k", sampling.top_k != 0 ? sampling.top_k : *dialect.top_k_off);
      fields.set("min_p", sampling.min_p);
    }
    if (!dialect.penalty.empty()) fields.set(dialect.penalty, 1);
  }
  /// On Ollama's own routes. Prompts that are too long fail there and are not cut.
  void set_native(JsonFields& fields, const PromptBody& body) const {
    if (!chat(body)) fields.set("raw", true);
    fields.set("stream", stream_).set("truncate", false).set("shift", false);
    if (body.sampling.logprobs) fields.set("logprobs", true);
  }
  void set_common(JsonFields& fields, const PromptBody& body, const Dialect& dialect) const {
    const Sampling& sampling = body.sampling;
    if (const auto tools = tools_of(body); !tools.empty()) {
      const bool all = tools.size() == body.protocol->purpose(body.purpose)->returns.size();
      fields.set("tool_choice", std::string_view(all ? "required" : "auto")).set("parallel_tool_calls", false);
    }
    if (dialect.special_tokens) fields.set("skip_special_tokens", false);
    // With ids vLLM counts each of the samples in a message. In chunks SGLang tells none, llama.cpp not all.
    const bool sglang = dialect.server == Server::sglang, whole = sglang || dialect.server == Server::llamacpp;
    const bool kept = sampling.keep_tokens && (dialect.server == Server::vllm || (whole && !stream_));
    const bool scored = sampling.logprobs || kept;
    if (dialect.token_ids ? kept || sampling.temperature > 0 : kept && sglang) fields.set("return_token_ids", true);
    if (kept && sglang && chat(body)) fields.set("return_meta_info", true);
    if (scored && chat(body)) fields.set("logprobs", true).set("top_logprobs", 1);
    if (scored && !chat(body)) fields.set("logprobs", 1);
    if (chat(body) && is_prefill(body)) fields.set("continue_final_message", true).set("add_generation_prompt", false);
    if (stream_) fields.set("stream", true).set_json("stream_options", usage_in_chunks);
  }
  static std::string joined(const PromptBody& body) {
    std::string text;
    for (const auto& message : body.messages) text.append(text.empty() ? "" : "\n\n").append(message.content);
    return text;
  }
  static std::string messages(const PromptBody& body) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    for (const auto& message : body.messages)
      json.begin_object().field("role", message.role).field("content", message.content).end_object();
    json.end_array();
    return out;
  }
  /// Merges extra fields. If `options` is set, the members of an "options" object go there.
  void merge(JsonFields& fields, const std::string& extra, JsonFields* options = nullptr) {
    if (extra.empty()) return;
    simdjson::dom::object inner;
    for (const auto& [name, value] : read_extra_body(json_, extra)) {
      if (options && name == "options" && !value.get(inner))
        for (const auto& [option, of_option] : inner) put(*options, option, of_option);
      else put(fields, name, value);
    }
  }
  static void put(JsonFields& fields, std::string_view name, simdjson::dom::element value) {
    constexpr std::array<std::string_view, 6> own = {"model", "messages", "prompt", "n", "seed", "stream"};
    if (std::find(own.begin(), own.end(), name) != own.end())
      throw std::invalid_argument("option 'extra_body' has the field '" + std::string(name) +
                                  "', allowed: an object without model, messages, prompt, n, seed and stream");
    if (value.is_null()) fields.remove(name);
    else fields.set_json(name, simdjson::minify(value));
  }

  std::string model_;
  bool chat_, stream_;
  std::string extra_body_;
  Thinking thinking_;
  JsonReader json_;
  std::shared_ptr<const PromptBody> shared_;  ///< its fields are in prefix_, in the dialect of server_
  Server server_ = Server::other;
  std::string prefix_;
};

}  // namespace espalier::backend::detail
