#pragma once

#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/llm/grammar.hpp>
#include <espalier/llm/protocol.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// If a reply comes as a JSON object around the text.
inline bool is_wrapped(const PromptBody& body, const Dialect& dialect) {
  return dialect.schemas && !body.sampling.grammar.empty();
}

/// The schema of replies under the prompt's grammar. Throws BackendError (permanent) if the grammar is not the one of
/// the prompt's protocol: no other one can be turned into a schema.
inline std::string grammar_schema(const PromptBody& body, const Dialect& dialect) {
  if (const Protocol::Purpose* purpose = body.protocol ? body.protocol->purpose(body.purpose) : nullptr) {
    const Grammar grammar(*body.protocol, *purpose, static_cast<std::uint32_t>(body.sampling.max_tokens));
    if (grammar.gbnf() == body.sampling.grammar) return grammar.json_schema();
  }
  throw refusal(dialect, "a grammar", "it takes schemas, and only the grammar of a method's prompt becomes one");
}

/// The value of the field that constrains a reply, as JSON. Throws like grammar_schema.
inline std::string grammar_json(const PromptBody& body, const Dialect& dialect) {
  if (dialect.server == Server::ollama) return grammar_schema(body, dialect);
  std::string out;
  JsonWriter json(out);
  if (dialect.server == Server::vllm) {
    json.begin_object().field("grammar", body.sampling.grammar).end_object();
  } else if (dialect.server == Server::openai) {
    json.begin_object().field("type", "json_schema").key("json_schema").begin_object().field("name", "reply");
    json.field("strict", true).key("schema").raw(grammar_schema(body, dialect)).end_object().end_object();
  } else {
    json.value(body.sampling.grammar);
  }
  return out;
}

/// The text inside the object that a schema asked for. A text that is no such object is returned as it is.
inline std::string unwrapped(std::string_view text) {
  JsonReader json;
  std::string copy(text);
  const auto root = json.parse(copy);
  std::string_view inner;
  return std::string(!root || (*root)["reply"].get(inner) ? text : inner);
}

}  // namespace espalier::backend::detail
