#pragma once

#include <espalier/backend/detail/chat/message_text.hpp>
#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/detail/http/server_error.hpp>
#include <espalier/core/json_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// Calls `take` with the data of every event of a text/event-stream (WHATWG HTML, 9.2). Lines end in CR, LF or both. An
/// event ends with an empty line, and its data lines are joined by line ends. Comments and other fields are skipped. An
/// event that is cut off is ignored.
template <class Take>
void for_each_event(std::string_view text, Take take) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string data;
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    if (end == std::string_view::npos) return;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    if (line.empty()) {
      if (any) take(std::string_view(data));
      data.clear();
      any = false;
    } else if (line.substr(0, line.find(':')) == "data") {
      std::string_view value = line.substr(line.find(':') == std::string_view::npos ? 4 : 5);
      if (value.starts_with(' ')) value.remove_prefix(1);
      if (any) data += '\n';
      data += value;
      any = true;
    }
  }
}

/// Joins a reply that came as a stream of chunks into one that reads like a complete reply.
class StreamedReply {
 public:
  /// The reply's JSON. Throws BackendError for an error among the chunks. Throws BackendError (transport) for a stream
  /// that is damaged or ends before its "[DONE]".
  static std::string whole(std::string_view stream, JsonReader& json) {
    StreamedReply reply;
    bool done = false;
    for_each_event(stream, [&](std::string_view data) {
      done = done || data == "[DONE]";
      if (done) return;
      std::string text(data);
      const simdjson::dom::element chunk = json.read(text);
      throw_if_error(chunk);
      reply.add(chunk);
    });
    if (!done) throw BackendError("the stream ends before its end");
    return reply.json();
  }

 private:
  struct Call {
    std::string name, arguments;
  };
  struct Choice {
    MessageText said;
    std::string finish, stop, logprobs, ids;
    std::map<std::uint64_t, Call> calls;
    bool chat = false;
  };

  void add(simdjson::dom::element chunk) {
    simdjson::dom::element usage;
    if (!chunk["usage"].get(usage) && usage.is_object()) usage_ = simdjson::minify(usage);
    simdjson::dom::array choices;
    if (chunk["choices"].get(choices)) return;
    for (const auto part : choices) {
      Choice& choice = choices_[field<std::uint64_t>(part, "index").value_or(0)];
      simdjson::dom::element delta = part;
      if (!part["delta"].get(delta)) choice.chat = true;
      const std::size_t before = choice.said.text.size();
      add_message(delta, choice.said);
      if (choice.said.text.size() > before && !choice.finish.empty())
        throw BackendError("a choice that goes on after its end");
      add_calls(delta, choice.calls);
      if (const auto finish = field<std::string_view>(part, "finish_reason")) choice.finish = *finish;
      for (const char* name : {"stop_reason", "matched_stop"}) {
        simdjson::dom::element stop;
        if (!part[name].get(stop) && !stop.is_null()) choice.stop = simdjson::minify(stop);
      }
      add_logprobs(part, choice.logprobs);
      simdjson::dom::array ids;
      if (!part["token_ids"].get(ids))
        for (const auto id : ids) choice.ids.append(choice.ids.empty() ? "" : ",").append(simdjson::minify(id));
    }
  }
  /// Appends pieces of calls of tools.
  static void add_calls(simdjson::dom::element delta, std::map<std::uint64_t, Call>& calls) {
    simdjson::dom::array parts;
    if (delta["tool_calls"].get(parts)) return;
    for (const simdjson::dom::element part : parts) {
      Call& call = calls[field<std::uint64_t>(part, "index").value_or(0)];
      simdjson::dom::element function;
      if (part["function"].get(function)) continue;
      call.name += field<std::string_view>(function, "name").value_or("");
      call.arguments += field<std::string_view>(function, "arguments").value_or("");
    }
  }
  /// Appends log-probabilities of further tokens, in the form of the chat route.
  static void add_logprobs(simdjson::dom::element part, std::string& list) {
    simdjson::dom::array tokens;
    const bool chat = !part["logprobs"]["content"].get(tokens);
    if (!chat && part["logprobs"]["token_logprobs"].get(tokens)) return;
    simdjson::dom::array names;
    const bool named = !chat && !part["logprobs"]["tokens"].get(names) && names.size() == tokens.size();
    auto name = named ? names.begin() : tokens.begin();
    for (const auto token : tokens) {
      list += list.empty() ? "" : ",";
      const std::string label = named ? "\"token\":" + std::string(simdjson::minify(*name)) + ',' : "";
      list +=
          chat ? simdjson::minify(token) : '{' + label + "\"logprob\":" + std::string(simdjson::minify(token)) + '}';
      ++name;
    }
  }
  [[nodiscard]] std::string json() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("choices").begin_array();
    for (const auto& [index, choice] : choices_) {
      json.begin_object().field("index", index).field("finish_reason", choice.finish);
      if (!choice.stop.empty()) json.key("stop_reason").raw(choice.stop);
      if (!choice.logprobs.empty()) json.key("logprobs").raw("{\"content\":[" + choice.logprobs + "]}");
      if (!choice.ids.empty()) json.key("token_ids").raw("[" + choice.ids + "]");
      if (choice.chat) {
        json.key("message").begin_object().key("content").begin_array();
        json.begin_object().field("type", "text").field("text", choice.said.text).end_object();
        if (!choice.said.foreign.empty()) json.begin_object().field("type", choice.said.foreign).end_object();
        json.end_array().field("reasoning_content", choice.said.thought).field("refusal", choice.said.refusal);
        if (!choice.calls.empty()) {
          json.key("tool_calls").begin_array();
          for (const auto& [at, call] : choice.calls)
            json.begin_object()
                .key("function")
                .begin_object()
                .field("name", call.name)
                .field("arguments", call.arguments)
                .end_object()
                .end_object();
          json.end_array();
        }
        json.end_object();
      } else {
        json.field("text", choice.said.text);
      }
      json.end_object();
    }
    json.end_array();
    if (!usage_.empty()) json.key("usage").raw(usage_);
    json.end_object();
    return out;
  }

  std::map<std::uint64_t, Choice> choices_;
  std::string usage_;
};

}  // namespace espalier::backend::detail
