#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/core/grammar.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/prompt.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// If a reply comes as a JSON object around the text.
inline bool is_wrapped(const PromptBody& body, const Dialect& dialect) {
  return dialect.schemas && !body.sampling.grammar.empty();
}

/// The values of the fields that constrain replies, by dialect.
class GrammarField {
 public:
  /// The field's value as JSON, valid until the next call. Throws BackendError (permanent) if the server takes schemas
  /// and the grammar is not the one of the prompt's protocol: no other one can be turned into a schema.
  [[nodiscard]] const std::string& json(const PromptBody& body, const Dialect& dialect) {
    auto& values = values_[static_cast<std::size_t>(dialect.server)];
    const std::string& grammar = body.sampling.grammar;
    const auto known = values.find(grammar);
    return known != values.end() ? known->second : values.emplace(grammar, value(body, dialect)).first->second;
  }

 private:
  static std::string value(const PromptBody& body, const Dialect& dialect) {
    std::string out;
    JsonWriter json(out);
    switch (dialect.server) {
      case Server::vllm:
        json.begin_object().field("grammar", body.sampling.grammar).end_object();
        return out;
      case Server::openai:
        json.begin_object().field("type", "json_schema").key("json_schema").begin_object().field("name", "reply");
        json.field("strict", true).key("schema").raw(schema(body, dialect)).end_object().end_object();
        return out;
      case Server::ollama:
        return schema(body, dialect);
      default:
        json.value(body.sampling.grammar);
        return out;
    }
  }
  static std::string schema(const PromptBody& body, const Dialect& dialect) {
    if (const Protocol::Purpose* purpose = body.protocol ? body.protocol->purpose(body.purpose) : nullptr) {
      const Grammar grammar(*body.protocol, *purpose, static_cast<std::uint32_t>(body.sampling.max_tokens));
      if (grammar.gbnf() == body.sampling.grammar) return grammar.json_schema();
    }
    throw refusal(dialect, "a grammar", "it takes schemas, and only the grammar of a method's prompt becomes one");
  }

  /// By the server and the grammar. A purpose has one, so a run has few.
  std::array<std::map<std::string, std::string>, dialects.size()> values_;
};

/// The text inside the object that a schema asked for. A text that is no such object is returned as it is: the server
/// has ignored the schema, or the reply was cut.
inline std::string unwrapped(std::string_view text) {
  JsonReader json;
  std::string copy(text);
  try {
    std::string_view inner;
    if (!json.read(copy)["reply"].get(inner)) return std::string(inner);
  } catch (const BackendError&) {  // not JSON
  }
  return std::string(text);
}

}  // namespace espalier::backend::detail
