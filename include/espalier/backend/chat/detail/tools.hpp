#pragma once

#include <espalier/backend/http/detail/json_reader.hpp>
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

/// A call as JSON in which no mark of the protocol stands: the first character of each is written as its code.
inline std::string without_marks(simdjson::dom::element call, const Protocol& protocol) {
  std::string json = simdjson::minify(call);
  for (const Protocol::Tag& tag : protocol.tags)
    for (const std::string& mark : {tag.open, tag.close})
      for (std::size_t at = 0; !mark.empty() && (at = json.find(mark, at)) != std::string::npos;) {
        constexpr const char* digits = "0123456789abcdef";
        const auto code = static_cast<unsigned char>(json[at]);
        json.replace(at, 1, {'\\', 'u', '0', '0', digits[code >> 4], digits[code & 15]});
      }
  return json;
}

/// The calls of a message in the marks of their tags, so that parsers read them like any other reply. A damaged call,
/// or one of a tool that was not offered, is shown as JSON without marks, so that nothing in it is read.
inline std::string called_tools(simdjson::dom::element message, const PromptBody& body) {
  std::string out;
  simdjson::dom::array calls;
  if (message["tool_calls"].get(calls)) return out;
  const std::vector<const Protocol::Tag*> tools = tools_of(body);
  for (const simdjson::dom::element call : calls) {
    simdjson::dom::element function;
    if (call["function"].get(function)) continue;
    const std::string_view name = field<std::string_view>(function, "name").value_or("");
    std::optional<std::string> argument;
    for (const Protocol::Tag* tool : tools) {
      if (tool->name != name) continue;
      argument = argument_of(function, parameter_of(*tool));
      if (argument) out.append(tool->open).append(*argument).append(tool->close);
    }
    if (!argument) out.append("damaged call: ").append(without_marks(call, *body.protocol));
  }
  return out;
}

}  // namespace espalier::backend::detail
