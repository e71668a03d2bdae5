#pragma once

#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/render.hpp>
#include <espalier/rag/state.hpp>

#include <string>

/// Parts of training rows: the slots and the text of a prompt as a search showed it, and a step as the reply to it.
namespace espalier::method::detail {

using Slots = rag::PromptSet::Slots;

/// The slots question and history.
inline Slots history_slots(const rag::Question& question, const rag::Transcript& history, const Protocol& protocol) {
  return {{"question", rag::render_text(question.text)}, {"history", rag::render_history(history, protocol)}};
}

/// The text of a purpose's prompt.
inline std::string prompt_text(const rag::PromptSet& prompts, const std::string& purpose, const Slots& slots) {
  return prompts.render(purpose, slots, {})->messages.back().content;
}

/// A step as the reply to its prompt: the thought on lines of its own, then the text in the marks of its kind. Reading
/// it back gives the same step. All text is neutralised.
inline std::string reply_text(const Protocol& protocol, const rag::Action& action) {
  const Protocol::Tag& tag = *protocol.tag(rag::detail::role(action.kind));
  const std::string thought = action.thought.empty() ? "" : rag::detail::neutralise(action.thought) + '\n';
  return thought + tag.open + ' ' + rag::detail::neutralise(action.text) + ' ' + tag.close;
}

}  // namespace espalier::method::detail
