#pragma once

#include <espalier/method/decouple/value_rows.hpp>
#include <espalier/output/detail/prompt_rows.hpp>

#include <string>
#include <utility>

namespace espalier::method::detail {

/// Appends a dialogue of one prompt and its reply for each step of the right path: "step" as the search asked it,
/// "plan" and "query" as the beam asks for the same step, and "forced_answer".
inline void append_prompt_rows(const output::TreeRecord& record, const rag::PromptSet& prompts,
                               const ValueRowOptions& options, std::string& out) {
  using rag::SegmentKind;
  const rag::Tree& tree = record.tree;
  const rag::Question& question = tree.state(tree.root()).question();
  const auto write = [&](NodeId id, const std::string& purpose, const rag::Transcript& history,
                         const rag::Action& said) {
    const auto slots = output::detail::history_slots(question, history, *prompts.protocol());
    JsonWriter json(out);
    json.begin_object().field("id", question.id + '#' + purpose + '@' + std::to_string(id)).key("messages");
    json.begin_array().begin_object().field("role", "user");
    json.field("content", output::detail::prompt_text(prompts, purpose, slots)).end_object();
    json.begin_object().field("role", "assistant");
    json.field("content", output::detail::reply_text(prompts, purpose, said)).end_object().end_array();
    json.field("correct", true).key("provenance").begin_object().field("tree", question.id).key("nodes");
    json.begin_array().value(id).end_array().field("purpose", purpose);
    record.end_provenance(json);
    json.end_object();
    out += '\n';
  };
  for (const NodeId end : labelled_paths(tree, options)) {
    if (!(tree[end].mean() > 0)) continue;
    rag::Transcript history;  // of its own, because the tree's is shared
    for (const NodeId id : tree.path(end)) {
      if (id == tree.root()) continue;
      const rag::Action& action = tree.action(id);
      write(id, action.forced ? "forced_answer" : "step", history, action);
      const rag::Transcript before = history;
      for (const rag::Segment* segment : tree.state(id).transcript().since(tree.state(tree[id].parent).transcript()))
        history = history.append(*segment);
      if (action.forced) continue;
      if (action.kind == SegmentKind::answer) write(id, "plan", before, action);
      if (action.kind == SegmentKind::answer || action.thought.empty()) continue;
      const rag::Segment plan(SegmentKind::thought, rag::ModelText(action.thought));
      write(id, "plan", before, rag::Action(SegmentKind::thought, action.thought, "", ""));
      write(id, "query", before.append(plan), rag::Action(action.kind, action.text, "", ""));
    }
  }
}

}  // namespace espalier::method::detail
