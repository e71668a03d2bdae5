#pragma once

#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

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
