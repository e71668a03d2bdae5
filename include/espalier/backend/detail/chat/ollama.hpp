#pragma once

#include <espalier/backend/detail/chat/grammar_field.hpp>
#include <espalier/backend/detail/chat/logprob_sum.hpp>
#include <espalier/backend/detail/chat/openai_reply.hpp>
#include <espalier/backend/detail/chat/stop_text.hpp>
#include <espalier/backend/detail/chat/tools.hpp>
#include <espalier/backend/detail/chat/usage.hpp>
#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/detail/http/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/prompt.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// The completion in a reply of Ollama's /api/chat or /api/generate. If the reply says why it ended, its text may be
/// null: the model wrote nothing. Throws BackendError for an error sent as a reply, and for a reply that has no text or
/// is incomplete.
inline Completion read_ollama(simdjson::dom::element root, const Prompt& prompt, UsageReader& counts) {
  throw_if_error(root);
  std::string_view text, thought;
  simdjson::dom::element message = root;
  const bool chat = !root["message"].get(message);
  if (message["thinking"].get(thought)) thought = {};
  const auto reason = field<std::string_view>(root, "done_reason").value_or("");
  const auto written = message[chat ? "content" : "response"];
  const bool silent = absent(written) && !reason.empty();
  if (written.get(text) && thought.empty() && !silent) throw BackendError("a reply without a text");
  if (!field<bool>(root, "done").value_or(false)) throw BackendError("a reply that is not done");
  const Completion::Finish finish = reason == "length" ? Completion::Finish::length
                                    : reason == "stop" ? Completion::Finish::stop
                                                       : Completion::Finish::other;
  const bool wrapped = is_wrapped(prompt.body(), dialect_of(Server::ollama));
  const std::string inner = wrapped ? unwrapped(text) : "";
  if (wrapped) text = inner;
  Completion completion(with_thought(thought, text));
  completion.finish = finish;
  if (!append_calls(message, prompt.body(), completion) && completion.finish == Completion::Finish::stop)
    completion.text += missing_stop(text, prompt.body(), std::nullopt);
  const Usage usage = counts.read(root["prompt_eval_count"], root["eval_count"]);
  completion.prompt_tokens = static_cast<std::uint32_t>(usage.prompt);
  completion.completion_tokens = static_cast<std::uint32_t>(usage.completion);
  simdjson::dom::array tokens;
  if (wrapped || !prompt.sampling().logprobs || root["logprobs"].get(tokens)) return completion;
  LogprobSum list;
  for (const auto token : tokens) {
    double logprob = 0;
    if (token["logprob"].get(logprob)) return completion;
    list.add(logprob, field<std::string_view>(token, "token"));
  }
  list.finish();
  cut_at_stop(list, completion.text, prompt.sampling().stop);
  if (list.whole || list.tokens >= completion.completion_tokens)
    set_logprobs(completion, std::move(list), prompt.sampling());
  return completion;
}

/// Joins a streamed reply of Ollama's own routes (lines of JSON) into one that reads like a complete reply. Throws
/// BackendError for an error among the lines. Throws BackendError (transport) for a stream that is damaged or ends
/// before the line that says "done".
inline std::string whole_ollama(std::string_view stream, JsonReader& json) {
  std::string text, thought, logprobs, calls, end;
  bool chat = false;
  while (end.empty() && !stream.empty()) {
    std::string line(stream.substr(0, stream.find('\n')));
    stream.remove_prefix(std::min(line.size() + 1, stream.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const simdjson::dom::element part = json.read(line);
    throw_if_error(part);
    simdjson::dom::element message = part;
    if (!part["message"].get(message)) chat = true;
    text += field<std::string_view>(message, chat ? "content" : "response").value_or("");
    thought += field<std::string_view>(message, "thinking").value_or("");
    simdjson::dom::array tokens;
    if (!part["logprobs"].get(tokens))
      for (const auto token : tokens) logprobs.append(logprobs.empty() ? "" : ",").append(simdjson::minify(token));
    simdjson::dom::array called;
    if (!message["tool_calls"].get(called))
      for (const auto call : called) calls.append(calls.empty() ? "" : ",").append(simdjson::minify(call));
    if (!field<bool>(part, "done").value_or(false)) continue;
    JsonWriter last(end);
    last.begin_object()
        .field("done", true)
        .field("done_reason", field<std::string_view>(part, "done_reason").value_or(""));
    for (const char* count : {"prompt_eval_count", "eval_count"})
      if (const auto value = field<std::uint64_t>(part, count)) last.field(count, *value);
    if (!logprobs.empty()) last.key("logprobs").raw("[" + logprobs + "]");
    if (chat) last.key("message").begin_object();
    last.field(chat ? "content" : "response", text).field("thinking", thought);
    if (!calls.empty()) last.key("tool_calls").raw("[" + calls + "]");
    if (chat) last.end_object();
    last.end_object();
  }
  if (end.empty()) throw BackendError("the stream ends before its end");
  return end;
}

}  // namespace espalier::backend::detail
