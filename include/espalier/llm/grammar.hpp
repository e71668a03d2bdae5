#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/llm/detail/form.hpp>
#include <espalier/llm/detail/reply_form.hpp>
#include <espalier/llm/protocol.hpp>

#include <cstdint>
#include <string>

namespace espalier {

/// The grammar of a purpose's replies, for servers that constrain what a model writes. Each reply that fits is read by
/// rag::parse as what it says. What the protocol can say fits, up to a cap on the length of each part, so that a reply
/// ends before `max_tokens` cuts it. docs/constrain.md has the caps.
class Grammar {
 public:
  /// Throws std::invalid_argument for a tag with a mark that is not ASCII.
  Grammar(const Protocol& protocol, const Protocol::Purpose& purpose, std::uint32_t max_tokens)
      : form_(detail::ReplyForm(protocol, purpose, max_tokens).form()) {}

  [[nodiscard]] const detail::FormPtr& form() const { return form_; }
  /// For llama.cpp, vLLM and SGLang's `ebnf`. It stands in a request's Sampling and so in its key.
  [[nodiscard]] std::string gbnf() const { return detail::GbnfText::of(form_); }
  /// The whole reply as a regular expression, without anchors.
  [[nodiscard]] std::string regex() const { return detail::regex_text(form_); }
  /// For llguidance.
  [[nodiscard]] std::string lark() const { return "start: REPLY\nREPLY: /" + regex() + "/\n"; }
  /// For servers that take schemas alone: an object whose only member `reply` is the text.
  [[nodiscard]] std::string json_schema() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("type", "object").key("properties").begin_object().key("reply").begin_object();
    json.field("type", "string").field("pattern", '^' + regex() + '$').end_object().end_object();
    json.key("required").raw(R"(["reply"])").field("additionalProperties", false).end_object();
    return out;
  }

 private:
  detail::FormPtr form_;
};

}  // namespace espalier
