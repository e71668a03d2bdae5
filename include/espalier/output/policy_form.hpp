#pragma once

#include <espalier/output/tree_json.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <string>
#include <utility>
#include <vector>

namespace espalier::output {

/// A chain in the form in which the policy writes it (DecEx-RAG, Table 3): own-knowledge rounds and the words before a query
/// become one thought, then comes <search> with its documents, or <answer>. Training rows use the prompt "rollout" over
/// such a transcript, rendered by the same code as at inference.
class PolicyForm {
 public:
  PolicyForm(const rag::PromptSet& prompts, const rag::Question& question) : prompts_(&prompts), question_(&question) {}

  /// Goes on by one node of the chain.
  void add(const rag::Action& action, const rag::Transcript& transcript) {
    const rag::Segment* last = transcript.last();
    if (action.kind != rag::SegmentKind::query) {
      thought_ = joined(thought_, step_text(action));
      return;
    }
    if (!thought_.empty()) history_ = history_.append(rag::Segment(rag::SegmentKind::thought, rag::ModelText(joined(thought_, action.thought))));
    history_ = history_.append(rag::Segment(rag::SegmentKind::query, rag::ModelText(action.text))).append(*last);
    thought_.clear();
  }

  /// The prompt at this point: the template over the rounds that end with documents.
  [[nodiscard]] std::string prompt() const {
    const auto body = prompts_->render("rollout", {{"question", rag::render_text(question_->text)}, {"history", rag::render_history(history_, *prompts_->protocol())}}, {});
    return body->messages.back().content;
  }
  /// What the policy has written of its next reply so far; empty right after documents.
  [[nodiscard]] std::string begun() const { return thought_.empty() ? "" : tag("thought").open + ' ' + rag::neutralise(thought_); }

  /// What the policy writes by taking an action now, in full: from after `begun()` to the end of the step.
  [[nodiscard]] std::string step(const rag::Action& action) const {
    const Tag thought = tag("thought");
    const bool open = !thought_.empty();
    const bool acts = action.kind == rag::SegmentKind::query || action.kind == rag::SegmentKind::answer;
    const std::string words = rag::neutralise(acts ? action.thought : step_text(action));
    std::string out;
    if (!words.empty()) out += (open ? "\n" : thought.open + ' ') + words;
    if (!acts) return out;
    if (open || !words.empty()) out += ' ' + thought.close + '\n';
    const Tag act = tag(action.kind == rag::SegmentKind::query ? "search" : "answer");
    return out + act.open + ' ' + rag::neutralise(action.text) + ' ' + act.close;
  }

 private:
  /// An own-knowledge step in words.
  static std::string step_text(const rag::Action& action) {
    if (action.kind == rag::SegmentKind::sub_question) return joined(action.thought, "Next I need to know: " + action.text);
    if (action.kind == rag::SegmentKind::own_answer) return joined(action.thought, "From memory: " + action.text + '.');
    return action.thought;
  }
  static std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + '\n' + b; }
  [[nodiscard]] Tag tag(const char* role) const { return *prompts_->protocol()->tag(role); }

  const rag::PromptSet* prompts_;
  const rag::Question* question_;
  rag::Transcript history_;
  std::string thought_;
};

}  // namespace espalier::output
