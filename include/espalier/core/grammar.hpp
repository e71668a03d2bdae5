#pragma once

#include <espalier/core/detail/form_text.hpp>
#include <espalier/core/detail/reply_form.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/protocol.hpp>

#include <cstdint>
#include <string>

namespace espalier {

/// The grammar of a purpose's replies, for servers that constrain what a model writes. Each reply that fits is read by
/// rag::parse as what it says, and what the protocol can say fits, up to these caps:
/// - a reply has at most about two units for three tokens of `max_tokens` that its marks leave. Two bytes of a mark
///   count as a token, and six tokens are left for the end. A unit is up to five ASCII letters with the character
///   behind them, or six letters. The slot has a third of the units and free text without opening marks two thirds.
///   With a block of thought, the thought has a half and the free text a sixth. A slot that is the whole reply has all
///   of them. No part has more than 8000,
/// - no beginning of a mark in an angle bracket has more than three characters (`<ans` must become `<answer>`), a long
///   beginning of another mark counts as an eighth of them, and so does a pair of brackets, which holds 64 units and
///   up to three pairs within each other,
/// - a number has at most six decimals, and a preference is between candidates up to 99.
/// At three tokens for two units or fewer, a reply is closed before `max_tokens` cuts it.
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
