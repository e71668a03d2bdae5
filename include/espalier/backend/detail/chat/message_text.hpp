#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>

#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// What a message of a chat says, or what the chunks of a stream add up to.
struct MessageText {
  std::string text;
  std::string thought;  ///< where it stands apart from the text
  std::string refusal;  ///< OpenAI's models say there that they do not reply
  std::string foreign;  ///< the sort of the first part that is no text, such as "image_url", "" = none
};

/// Adds a `content`: a text, or a list of parts. Parts of text are joined, and parts of a thought are its thought.
/// Returns false for any other value.
inline bool add_content(simdjson::dom::element content, MessageText& said) {
  std::string_view words;
  if (!content.get(words)) {
    said.text += words;
    return true;
  }
  simdjson::dom::array parts;
  if (content.get(parts)) return false;
  for (const simdjson::dom::element part : parts) {
    const auto sort = field<std::string_view>(part, "type").value_or("");
    simdjson::dom::element inner;
    if (sort == "thinking" && !part["thinking"].get(inner)) {
      MessageText thought;
      add_content(inner, thought);
      said.thought += thought.text;
    } else if (const auto refusal = field<std::string_view>(part, "refusal")) {
      said.refusal += *refusal;
    } else if (const auto text = field<std::string_view>(part, "text")) {
      said.text += *text;
    } else if (said.foreign.empty()) {
      said.foreign = sort.empty() ? "unknown" : sort;
    }
  }
  return true;
}

/// Adds a message of a chat, a choice of a plain completion, or a chunk of either. Returns false if its text is missing
/// or neither a text nor a list.
inline bool add_message(simdjson::dom::element message, MessageText& said) {
  for (const char* name : {"reasoning_content", "reasoning"})
    if (const auto thought = field<std::string_view>(message, name)) {
      said.thought += *thought;
      break;
    }
  said.refusal += field<std::string_view>(message, "refusal").value_or("");
  simdjson::dom::element content;
  return (!message["content"].get(content) || !message["text"].get(content)) && add_content(content, said);
}

}  // namespace espalier::backend::detail
