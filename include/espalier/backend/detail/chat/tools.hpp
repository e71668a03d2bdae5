#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/prompt.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::backend::detail {

/// The tags that a prompt's reply may return as calls of tools: those with an opening mark. Empty if the prompt is not
/// asked that way.
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
  if (tool.name == "search") return "query";
  return tool.name;
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

/// The argument of a call as text. A string is taken as it is, any other value as JSON. Nothing if the arguments are
/// damaged or lack the parameter. Servers send them as a JSON text or, Ollama, as an object.
inline std::optional<std::string> argument_of(simdjson::dom::element function, std::string_view parameter) {
  simdjson::dom::parser parser;
  simdjson::dom::element arguments, value;
  std::string_view text;
  if (function["arguments"].get(arguments)) return std::nullopt;
  if (!arguments.get(text) && parser.parse(simdjson::padded_string(text)).get(arguments)) return std::nullopt;
  if (arguments[parameter].get(value)) return std::nullopt;
  return value.get(text) ? simdjson::minify(value) : std::string(text);
}

/// Appends the calls of a message to its completion, in the marks of their tags, so that parsers read them like any
/// other reply. A damaged call, or one of a tool that was not offered, is appended as it came, and the completion is
/// damaged. Returns true if there was a call.
inline bool append_calls(simdjson::dom::element message, const PromptBody& body, Completion& completion) {
  simdjson::dom::array calls;
  if (message["tool_calls"].get(calls)) return false;
  bool any = false;
  const std::vector<const Protocol::Tag*> tools = tools_of(body);
  for (const simdjson::dom::element call : calls) {
    simdjson::dom::element function;
    if (call["function"].get(function)) continue;
    any = true;
    const std::string_view name = field<std::string_view>(function, "name").value_or("");
    std::optional<std::string> argument;
    for (const Protocol::Tag* tool : tools) {
      if (tool->name != name) continue;
      argument = argument_of(function, parameter_of(*tool));
      if (argument) completion.text.append(tool->open).append(*argument).append(tool->close);
    }
    if (argument) continue;
    completion.text.append("damaged call: ").append(simdjson::minify(call));
    completion.damaged = true;
  }
  return any;
}

}  // namespace espalier::backend::detail
