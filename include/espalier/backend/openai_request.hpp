#pragma once

#include <espalier/backend/json_fields.hpp>
#include <espalier/backend/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend {

/// True for a raw prompt: one message without a role.
inline bool is_raw(const PromptBody& body) { return body.messages.size() == 1 && body.messages[0].role.empty(); }

/// Writes the bodies of /chat/completions and /completions. What all samples of a prompt have in common is written
/// once.
class OpenAiRequest {
 public:
  /// `chat` false sends prompts with roles to /completions too, their messages joined by blank lines. Fields of
  /// `extra_body` ("" or a JSON object) replace those written here, null removes one; a prompt's own go before. Throws
  /// std::invalid_argument if it is no object or touches model, messages, prompt, n, seed or stream.
  OpenAiRequest(std::string model, bool chat, std::string extra_body)
      : model_(std::move(model)), chat_(chat), extra_body_(std::move(extra_body)) {
    JsonFields probe;
    merge(probe, extra_body_);
  }
  [[nodiscard]] bool chat(const PromptBody& body) const { return chat_ && !is_raw(body); }

  /// The body for samples of one prompt, from the first one's index on. Sampled requests carry the seed
  /// (prompt.seed() + sample) mod 2^31, which every server takes; greedy ones carry none.
  [[nodiscard]] std::string write(std::span<const Prompt> samples) {
    const Prompt& first = samples.front();
    if (first.shared_body() != shared_) {
      prefix_ = common_fields(first.body());
      shared_ = first.shared_body();
    }
    std::string out;
    out.reserve(prefix_.size() + 32);
    out += prefix_;
    if (samples.size() > 1) (out += ",\"n\":") += std::to_string(samples.size());
    if (!first.greedy()) (out += ",\"seed\":") += std::to_string((first.seed() + first.sample()) & 0x7fffffff);
    return out += '}';
  }

 private:
  [[nodiscard]] std::string common_fields(const PromptBody& body) {
    const Sampling& sampling = body.sampling;
    JsonFields fields;
    fields.set("model", model_);
    if (chat(body)) {
      fields.set_json("messages", messages(body));
    } else {
      std::string prompt;
      for (const auto& message : body.messages) prompt.append(prompt.empty() ? "" : "\n\n").append(message.content);
      fields.set("prompt", prompt);
    }
    fields.set("temperature", sampling.temperature).set("top_p", sampling.top_p).set("max_tokens", sampling.max_tokens);
    if (!sampling.stop.empty()) fields.set_json("stop", stops(sampling));
    if (sampling.top_k != 0) fields.set("top_k", sampling.top_k);
    if (sampling.min_p != 0) fields.set("min_p", sampling.min_p);
    if (sampling.logprobs && chat(body)) fields.set("logprobs", true);
    if (sampling.logprobs && !chat(body)) fields.set("logprobs", 1);
    merge(fields, extra_body_);
    merge(fields, sampling.extra_body);
    return fields.open_object();
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
  static std::string stops(const Sampling& sampling) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    for (const auto& stop : sampling.stop) json.value(stop);
    json.end_array();
    return out;
  }
  void merge(JsonFields& fields, const std::string& extra) {
    if (extra.empty()) return;
    constexpr std::array<std::string_view, 6> own = {"model", "messages", "prompt", "n", "seed", "stream"};
    std::string text = extra;
    simdjson::dom::object object;
    try {
      if (json_.read(text).get(object)) throw BackendError("not an object");
    } catch (const BackendError&) {
      bad_option("extra_body", extra, "a JSON object");
    }
    for (const auto& [name, value] : object) {
      if (std::find(own.begin(), own.end(), name) != own.end())
        bad_option("extra_body", extra, "an object without model, messages, prompt, n, seed and stream");
      if (value.is_null()) fields.remove(name);
      else fields.set_json(name, simdjson::minify(value));
    }
  }

  std::string model_;
  bool chat_;
  std::string extra_body_;
  JsonReader json_;
  std::shared_ptr<const PromptBody> shared_;  ///< whose fields prefix_ holds
  std::string prefix_;
};

}  // namespace espalier::backend
