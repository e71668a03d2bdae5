#pragma once

#include <espalier/backend/chat/openai_reply.hpp>
#include <espalier/backend/chat/stop_text.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/backend/http/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/prompt.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend {

/// The completion in a reply of Ollama's /api/chat or /api/generate. Tokens are reported for the one text. Throws
/// BackendError for an error sent as a reply, and for a reply that has no text or is not whole.
inline Completion read_ollama(simdjson::dom::element root, const Prompt& prompt) {
  throw_if_error(root);
  std::string_view text, thought;
  simdjson::dom::element message = root;
  const bool chat = !root["message"].get(message);
  if (message["thinking"].get(thought)) thought = {};
  if (message[chat ? "content" : "response"].get(text)) throw BackendError("a reply without a text");
  if (!field<bool>(root, "done").value_or(false)) throw BackendError("a reply that is not done");
  Completion completion(with_thought(thought, text));
  const auto reason = field<std::string_view>(root, "done_reason").value_or("");
  completion.finish = reason == "length" ? Finish::length : reason == "stop" ? Finish::stop : Finish::other;
  if (completion.finish == Finish::stop) completion.text += missing_stop(text, prompt.body(), std::nullopt);
  completion.prompt_tokens = read_count(root["prompt_eval_count"]);
  completion.completion_tokens = read_count(root["eval_count"]);
  simdjson::dom::array tokens;
  if (!prompt.sampling().logprobs || root["logprobs"].get(tokens) || tokens.size() < completion.completion_tokens) return completion;
  double sum = 0;
  for (const auto token : tokens) {
    double logprob = 0;
    if (token["logprob"].get(logprob)) return completion;
    sum += logprob;
  }
  completion.logprob = sum;
  return completion;
}

}  // namespace espalier::backend
