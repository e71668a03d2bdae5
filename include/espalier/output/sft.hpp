#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/utf8.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/state.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::output {

struct SftOptions {
  ChainChoice choice = ChainChoice::most;
  rag::Profile profile = rag::Profile::common;  ///< decides whether an answer is correct
};

namespace detail {

/// The length of a text as readers of its JSON count it, in Unicode code points. A bad byte counts as one.
inline std::size_t code_points(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) espalier::detail::decode_utf8(text, i);
  return n;
}

/// A chain in the form in which the policy writes it (DecEx-RAG, Table 3). Own-knowledge rounds and the text before a
/// query or an answer become one thought. Then comes `<search>` with its documents, or `<answer>`. Prompts are the
/// prompt "rollout" over such a transcript, and all text is neutralised. So inference shows what training showed.
class PolicyForm {
 public:
  PolicyForm(const rag::PromptSet& prompts, const rag::Question& question) : prompts_(&prompts), question_(&question) {}

  /// Adds one node of the chain. `transcript` is that of its state.
  void add(const rag::Action& action, const rag::Transcript& transcript) {
    thought_ = joined(thought_, words(action));
    if (action.kind != rag::SegmentKind::query) return;
    if (!thought_.empty())
      history_ = history_.append(rag::Segment(rag::SegmentKind::thought, rag::ModelText(thought_)));
    history_ = history_.append(rag::Segment(action.kind, rag::ModelText(action.text))).append(*transcript.last());
    thought_.clear();
  }

  /// The prompt at this point: the template with the rounds that end with documents.
  [[nodiscard]] std::string prompt() const {
    const auto body = prompts_->render("rollout",
                                       {{"question", rag::render_text(question_->text)},
                                        {"history", rag::render_history(history_, *prompts_->protocol())}},
                                       {});
    return body->messages.back().content;
  }

  /// The part of the policy's next reply that is written so far, empty right after documents.
  [[nodiscard]] std::string begun() const {
    return thought_.empty() ? "" : tag("thought").open + ' ' + rag::detail::neutralise(thought_);
  }

  /// What the policy writes when it takes an action now, from the end of begun() to the end of the step.
  [[nodiscard]] std::string step(const rag::Action& action) const {
    const std::string thought = rag::detail::neutralise(words(action));
    std::string out = thought_.empty() && !thought.empty() ? tag("thought").open : "";
    if (!thought.empty()) out += ' ' + thought;
    const bool query = action.kind == rag::SegmentKind::query;
    if (!query && action.kind != rag::SegmentKind::answer) return out;
    if (!thought_.empty() || !thought.empty()) out += ' ' + tag("thought").close + '\n';
    const Protocol::Tag& act = tag(query ? "search" : "answer");
    return out + act.open + ' ' + rag::detail::neutralise(action.text) + ' ' + act.close;
  }

 private:
  /// What an action adds to the policy's thought.
  static std::string words(const rag::Action& action) {
    if (action.kind == rag::SegmentKind::sub_question)
      return joined(action.thought, "Next sub-question: " + action.text);
    if (action.kind != rag::SegmentKind::own_answer) return action.thought;
    const bool ended = action.text.find_last_of(".!?") + 1 == action.text.size();
    return joined(action.thought, "From memory, the answer is " + action.text + (ended ? "" : "."));
  }
  static std::string joined(const std::string& a, const std::string& b) {
    return a.empty() || b.empty() ? a + b : a + ' ' + b;
  }
  [[nodiscard]] const Protocol::Tag& tag(const char* role) const {
    const Protocol::Tag* tag = prompts_->protocol()->tag(role);
    if (tag == nullptr)
      throw std::invalid_argument("the prompts of " + prompts_->protocol()->method + " have no tag '" + role + "'");
    return *tag;
  }

  const rag::PromptSet* prompts_;
  const rag::Question* question_;
  rag::Transcript history_;
  std::string thought_;  ///< of the round that no query has closed yet
};

}  // namespace detail

/// Appends the tree's SFT rows (DecEx-RAG, section 2.3). A correct chain with m retrievals gives m + 1 rows. Row i
/// shows the question and everything up to the i-th retrieval's documents. Its completion is what the policy writes
/// next, up to the next query or the final answer. `loss_spans` are [begin, end) in code points of prompt + completion.
/// Documents are only in the prompt, so they are never in the loss.
inline void append_sft_rows(const TreeRecord& record, const rag::PromptSet& prompts, const SftOptions& options,
                            std::string& out) {
  const rag::Tree& tree = record.tree;
  const std::optional<NodeId> end = correct_chain(tree, options.choice, options.profile);
  if (!end) return;
  const std::vector<std::optional<double>> own = rewards(tree);
  const std::string& question = tree.state(*end).question().id;
  const auto write = [&](std::size_t row, const std::string& prompt, const std::string& completion,
                         const std::vector<NodeId>& nodes) {
    JsonWriter json(out);
    const std::size_t begin = detail::code_points(prompt), end_of_row = begin + detail::code_points(completion);
    json.begin_object().field("id", question + '#' + std::to_string(row));
    json.field("prompt", prompt).field("completion", completion).key("loss_spans").begin_array();
    json.begin_array().value(begin).value(end_of_row).end_array().end_array();
    record.begin_provenance(json).key("nodes").array(nodes);
    json.key("rewards").begin_array();
    for (const NodeId node : nodes) json.value(own[node]);
    json.end_array().field("answer_reward", own[*end]).field("choice", detail::name(options.choice));
    record.end_row(json, out);
  };
  detail::PolicyForm form(prompts, tree.state(*end).question());
  std::vector<NodeId> nodes;
  std::string completion;
  std::size_t row = 0;
  for (const NodeId id : tree.path(*end)) {
    if (id == tree.root()) continue;
    const rag::Action& action = tree.action(id);
    nodes.push_back(id);
    completion += form.step(action);
    if (action.kind == rag::SegmentKind::query || action.kind == rag::SegmentKind::answer) {
      write(row++, form.prompt(), completion, nodes);
      nodes.clear();
      completion.clear();
    }
    form.add(action, tree.state(id).transcript());
  }
}

}  // namespace espalier::output
