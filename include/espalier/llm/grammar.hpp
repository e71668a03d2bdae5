#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/llm/detail/form.hpp>
#include <espalier/llm/detail/part_form.hpp>
#include <espalier/llm/protocol.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Makes the form of a purpose's replies: exactly what rag::parse reads, with capped free text in front.
class ReplyForm {
 public:
  /// A reply has at most about two units (see MarkFree) for three tokens that its marks leave: a third for the slot,
  /// and two thirds for the free text. With a block of thought, the thought has a half and the free text a sixth. A
  /// slot that is a whole reply, or a trajectory, has all. Throws std::invalid_argument for a mark beyond ASCII.
  ReplyForm(const Protocol& protocol, const Protocol::Purpose& purpose, std::uint32_t max_tokens)
      : protocol_(protocol), purpose_(purpose) {
    std::size_t marks = 0;  // bytes
    for (const std::string& role : purpose.returns)
      if (const Protocol::Tag* tag = protocol.tag(role)) {
        marks = std::max(marks, tag->open.size() + tag->close.size());
        for (const unsigned char c : tag->open + tag->close)
          if (c >= 128)
            throw std::invalid_argument("no grammar can be made of the tag '" + role + "': its marks are not ASCII");
        if (!tag->open.empty()) opens_.push_back(tag->open);
        if (tag->close.size() > 1) stops_.push_back(tag->close);
      }
    // A model needs more tokens in a mark than in a word, and the closing one may follow two beginnings of others.
    const auto tokens = static_cast<std::uint32_t>(marks / 2 + 6);
    units_ = std::max(6U, (max_tokens - std::min(max_tokens, tokens)) / 3 * 2);
  }

  [[nodiscard]] FormPtr form() const {
    if (purpose_.returns.empty())  // a line without '<', in which `parse` sees no mark
      return meaning("line", text({"<", "\n"}, all_blanks, line_blanks, units_));
    std::vector<FormPtr> slots, ways;
    const Protocol::Tag* whole = nullptr;
    for (const std::string& role : purpose_.returns) {
      const Protocol::Tag* tag = protocol_.tag(role);
      if (tag && !tag->open.empty()) slots.push_back(slot(*tag));
      else if (tag && !whole) whole = tag;
    }
    ways.push_back(slots.empty() ? nullptr : sequence({either({thought(), free(units_ * 2 / 3)}), either(slots)}));
    if (whole) ways.push_back(content(*whole));
    return either(ways);
  }

 private:
  static constexpr std::string_view all_blanks = " \t\n\r", line_blanks = " \t\r",
                                    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static constexpr std::uint32_t blanks = 8;  ///< in front of a slot's text
  static constexpr std::uint32_t group = 64;  ///< units within brackets
  static constexpr int depth = 4;             ///< of brackets within a slot
  /// `parse` takes blocks out at the beginning of a reply, and what stands in front of the first closing mark.
  static constexpr std::string_view block = "<think>", block_end = "</think>";

  static std::string closing_bracket(const Protocol::Tag& tag) {
    constexpr std::string_view opening = "([{", closing = ")]}";
    const std::size_t bracket = tag.open.empty() ? opening.npos : opening.find(tag.open.back());
    return bracket != opening.npos && tag.close == closing.substr(bracket, 1) ? tag.close : "";
  }
  /// A block of thought at the beginning and free text behind it, in protocols that have one.
  [[nodiscard]] FormPtr thought() const {
    const bool thinks = std::ranges::any_of(protocol_.tags, [](const Protocol::Tag& tag) { return tag.open == block; });
    if (!thinks || std::find(opens_.begin(), opens_.end(), block) != opens_.end()) return nullptr;
    std::vector<std::string> marks = stops_;
    marks.insert(marks.end(), {std::string(block), std::string(block_end)});
    const MarkFree words(std::move(marks));
    const FormPtr said = meaning("think", sequence({words.row(units_ / 2), words.tail()}));
    return sequence({literal(block), said, literal(block_end), free(units_ / 6)});
  }
  /// Words in front of a slot. They hold no opening mark and nothing at which a request stops.
  [[nodiscard]] FormPtr free(std::uint32_t most) const {
    std::vector<std::string> marks = opens_;
    marks.insert(marks.end(), stops_.begin(), stops_.end());
    marks.emplace_back(block);
    return meaning("thought", MarkFree(std::move(marks)).row(most));
  }
  [[nodiscard]] FormPtr slot(const Protocol::Tag& tag) const {
    const FormPtr close = tag.close == "\n" ? optional(literal("\n")) : literal(tag.close);
    return sequence({literal(tag.open), content(tag), close});
  }
  /// What stands between a tag's marks, in the form that its role has.
  [[nodiscard]] FormPtr content(const Protocol::Tag& tag) const {
    const std::string_view spaces = tag.close == "\n" ? line_blanks : all_blanks;
    const FormPtr around = repeat(one_of(spaces), 0, blanks);
    std::vector<std::string> marks = stops_;
    marks.push_back(tag.close);
    marks.emplace_back(block_end);
    const bool bracket = !closing_bracket(tag).empty();
    for (const std::string& open : opens_)
      if (!(bracket && open == tag.open)) marks.push_back(open);  // brackets are read from the first opening mark
    if (tag.open.empty()) marks.emplace_back(block);
    if (tag.name == "score") return meaning(tag.name, sequence({around, scores_form(purpose_.scores), around}));
    if (tag.name == "preference") return meaning(tag.name, sequence({around, preference_form(), around}));
    if (tag.name == "verdict")
      return meaning(tag.name, word(either({any_case("yes"), any_case("no")}), std::move(marks), around));
    if (tag.name == "choice") return meaning(tag.name, word(one_of(letters), std::move(marks), around));
    const std::string never_first = joined(spaces, overlap(tag.open, marks));
    if (bracket) return meaning(tag.name, balanced(std::move(marks), tag, never_first));
    const bool whole = tag.open.empty() || tag.name == "trajectory";
    return meaning(tag.name, text(std::move(marks), spaces, never_first, whole ? units_ : units_ / 3));
  }
  /// The characters that would go on from the end of an opening mark to another mark, as in `[[[`.
  static std::string overlap(const std::string& open, const std::vector<std::string>& marks) {
    std::string next;
    for (const std::string& mark : marks)
      for (std::size_t size = 1; size < mark.size(); ++size)
        if (open.ends_with(mark.substr(0, size))) next += mark[size];
    return next;
  }
  static std::string joined(std::string_view a, std::string_view b) { return std::string(a).append(b); }
  /// Text without the marks. Its first character that is no blank is none of `never_first`.
  [[nodiscard]] FormPtr text(std::vector<std::string> marks, std::string_view spaces, std::string_view never_first,
                             std::uint32_t most) const {
    const MarkFree words(std::move(marks));
    return sequence({repeat(one_of(spaces), 0, blanks),
                     either({sequence({words.row(never_first, most), words.tail()}), words.tail(1, never_first)})});
  }
  [[nodiscard]] FormPtr balanced(std::vector<std::string> marks, const Protocol::Tag& tag,
                                 std::string_view never_first) const {
    const std::string open(1, tag.open.back());
    marks.push_back(open);
    const MarkFree words(std::move(marks));
    FormPtr inner;
    for (int level = 0; level < depth; ++level)
      inner = sequence({literal(open), words.row(group, inner), words.tail(), literal(tag.close)});
    return sequence(
        {repeat(one_of(all_blanks), 0, blanks),
         either({sequence({words.row(never_first, units_ / 3, inner), words.tail()}), words.tail(1, never_first)})});
  }
  /// A word that decides, with `around` before it. Text behind it does not begin with a letter.
  [[nodiscard]] FormPtr word(const FormPtr& decision, std::vector<std::string> marks, const FormPtr& around) const {
    const MarkFree words(std::move(marks));
    const FormPtr more = either({sequence({words.row(letters, units_ / 3), words.tail()}), words.tail(1, letters)});
    return sequence({around, optional(literal("(")), decision, optional(more)});
  }

  const Protocol& protocol_;
  const Protocol::Purpose& purpose_;
  std::vector<std::string> opens_, stops_;
  std::uint32_t units_ = 0;
};

}  // namespace espalier::detail

namespace espalier {

/// The grammar of a purpose's replies, for servers that constrain what a model writes. Each reply that fits is read by
/// rag::parse as what it says. What the protocol can say fits, up to a cap on the length of each part, so that a reply
/// ends before `max_tokens` cuts it. docs/prompts.md has the caps.
class Grammar {
 public:
  /// Throws std::invalid_argument for a tag with a mark that is not ASCII.
  Grammar(const Protocol& protocol, const Protocol::Purpose& purpose, std::uint32_t max_tokens)
      : form_(detail::ReplyForm(protocol, purpose, max_tokens).form()) {}

  [[nodiscard]] const detail::FormPtr& form() const { return form_; }
  /// For llama.cpp, vLLM and SGLang's `ebnf`. It stands in a request's Sampling and so in its key.
  [[nodiscard]] std::string gbnf() const { return detail::GbnfText::of(form_); }
  /// The same of a purpose, as rag::Sampler asks for it.
  static std::string gbnf_of(const Protocol& protocol, const Protocol::Purpose& purpose, std::uint32_t max_tokens) {
    return Grammar(protocol, purpose, max_tokens).gbnf();
  }
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
