#pragma once

#include <espalier/output/sft.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Training rows for the prompts of a search, derived from its tree: each prompt as the search showed it, and the reply
/// that was read there.
namespace espalier::method::detail {

using Slots = std::vector<std::pair<std::string, rag::Rendering>>;

/// The slots question and history.
inline Slots history_slots(const rag::Question& question, const rag::Transcript& history, const Protocol& protocol) {
  return {{"question", rag::render_text(question.text)}, {"history", rag::render_history(history, protocol)}};
}

/// The text of a purpose's prompt.
inline std::string prompt_text(const rag::PromptSet& prompts, const std::string& purpose, const Slots& slots) {
  return prompts.render(purpose, slots, {})->messages.back().content;
}

/// A step as the reply that a purpose asks for. Reading it back gives the same step. The thought stands in the tag
/// "reasoning" if the prompt's text shows that tag, and in the tag "thought" where the reply may be a search. Elsewhere
/// it has no marks. All text is neutralised.
inline std::string reply_text(const rag::PromptSet& prompts, const std::string& purpose, const rag::Action& action) {
  const Protocol& protocol = *prompts.protocol();
  const auto& returns = protocol.purpose(purpose)->returns;
  const std::string text = rag::detail::neutralise(action.text), thought = rag::detail::neutralise(action.thought);
  const auto marked = [](const Protocol::Tag& tag, const std::string& inside) {
    if (tag.open.empty()) return inside;
    const bool bracket = std::string_view("([{").find(tag.open.back()) != std::string_view::npos;
    const bool line = tag.close == "\n" || tag.close.empty();
    return tag.open + (bracket ? "" : " ") + inside + (bracket || line ? "" : " ") + (line ? "" : tag.close);
  };
  if (returns.empty()) return text;
  std::string role = rag::detail::role(action.kind);
  if (action.kind == rag::SegmentKind::sub_question) role = "question";
  if (action.kind == rag::SegmentKind::own_answer) role = "answer";
  const std::string said = marked(*protocol.tag(role), text);
  if (thought.empty()) return said;
  const auto around = [&](const char* name) { return marked(*protocol.tag(name), thought) + '\n' + said; };
  const std::string& shown = prompts.texts().at(purpose);
  if (const Protocol::Tag* tag = protocol.tag("reasoning"); tag && shown.find(tag->open) != std::string::npos)
    return around("reasoning");
  if (std::find(returns.begin(), returns.end(), "search") != returns.end() && protocol.tag("thought"))
    return around("thought");
  return thought + '\n' + said;
}

}  // namespace espalier::method::detail
