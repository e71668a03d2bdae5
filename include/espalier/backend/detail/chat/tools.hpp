#pragma once

#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/llm/protocol.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::backend::detail {

/// The tags that a reply may return as calls of tools: those with an opening mark. Empty for a prompt without tools.
inline std::vector<const Protocol::Tag*> tools_of(const PromptBody& body) {
  std::vector<const Protocol::Tag*> tools;
  if (!body.sampling.tools || !body.protocol) return tools;
  const Protocol::Purpose* purpose = body.protocol->purpose(body.purpose);
  if (purpose == nullptr) return tools;
  for (const std::string& role : purpose->returns)
    if (const Protocol::Tag* tag = body.protocol->tag(role); tag != nullptr && !tag->open.empty()) tools.push_back(tag);
  return tools;
}

/// The name of a tool's only parameter, a string.
inline std::string_view parameter_of(const Protocol::Tag& tool) {
  return tool.name == "search" ? "query" : std::string_view(tool.name);
}

/// The "tools" of a chat request: a function for each tag, named by its role.
inline std::string tools_json(const std::vector<const Protocol::Tag*>& tools) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  for (const Protocol::Tag* tool : tools) {
    const std::string_view name = tool->name, parameter = parameter_of(*tool);
    const std::string does = name == "search" ? "Looks a query up in the documents." : "Gives the " + tool->name + ".";
    json.begin_object().field("type", "function").key("function").begin_object();
    json.field("name", name).field("description", does).key("parameters").begin_object().field("type", "object");
    json.key("properties").begin_object().key(parameter).begin_object().field("type", "string").end_object();
    json.end_object().key("required").begin_array().value(parameter).end_array();
    json.end_object().end_object().end_object();
  }
  json.end_array();
  return out;
}

struct ToolCall {
  std::string name, arguments;
  std::string shown{};  ///< the call as it came, "" = it came in pieces
};

/// The argument of a call: a string as it is, any other value as JSON. Nothing if it is damaged or lacks the parameter.
inline std::optional<std::string> argument_of(const ToolCall& call, std::string_view parameter) {
  simdjson::dom::parser parser;
  simdjson::dom::element arguments, value;
  if (parser.parse(call.arguments).get(arguments) || arguments[parameter].get(value)) return std::nullopt;
  return text_or_json(value);
}

/// Appends the calls of a reply to its completion, in the marks of their tags, so that parsers read them like any other
/// reply. A damaged call, or one of a tool that was not offered, is appended as it came, and the completion is damaged.
inline void append_calls(const std::map<std::uint64_t, ToolCall>& calls, const PromptBody& body,
                         Completion& completion) {
  const std::vector<const Protocol::Tag*> tools = tools_of(body);
  for (const auto& [index, call] : calls) {
    std::optional<std::string> argument;
    for (const Protocol::Tag* tool : tools) {
      if (tool->name != call.name) continue;
      argument = argument_of(call, parameter_of(*tool));
      if (argument) completion.text.append(tool->open).append(*argument).append(tool->close);
    }
    if (argument) continue;
    std::string shown = call.shown;
    if (shown.empty()) {
      JsonWriter json(shown);
      json.begin_object().key("function").begin_object().field("name", call.name).field("arguments", call.arguments);
      json.end_object().end_object();
    }
    completion.text.append("damaged call: ").append(shown);
    completion.damaged = true;
  }
}

}  // namespace espalier::backend::detail
