#pragma once

#include <espalier/output/chain.hpp>
#include <espalier/output/policy_form.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

struct DpoOptions {
  double margin = 0.1;  ///< least difference of the two rewards, >= 0; equal rewards never make a pair
};

namespace detail {

/// Writes the preference pairs at one node of a chain.
class PairWriter {
 public:
  PairWriter(const TreeRecord& record, const DpoOptions& options, std::string& out)
      : record_(&record), options_(options), out_(&out), own_(rewards(record.tree)) {}

  /// `form` is the policy's text up to the parent.
  void write(NodeId parent, const PolicyForm& form) {
    using rag::SegmentKind;
    const auto answers = ranked(parent, SegmentKind::answer), questions = ranked(parent, SegmentKind::sub_question);
    const auto own_answers = ranked(parent, SegmentKind::own_answer), queries = ranked(parent, SegmentKind::query);
    decision("termination", answers, questions, parent, form);
    decision("retrieval", own_answers, queries, parent, form);
    for (const auto* siblings : {&answers, &questions, &own_answers, &queries})
      for (std::size_t i = 1; i < siblings->size(); ++i)
        pair("execution", is_retrieval(siblings->front()) ? "retrieval" : "termination", siblings->front(), (*siblings)[i], parent, form);
  }

 private:
  /// A node's reward: its own, or what came back from below where only leaves have one (Full-Node).
  [[nodiscard]] std::optional<double> reward(NodeId id) const {
    if (own_[id]) return own_[id];
    return record_->tree[id].visits ? std::optional<double>(record_->tree[id].mean()) : std::nullopt;
  }
  /// The readable children of a kind that have a reward, best first; ties: higher prior, then older.
  [[nodiscard]] std::vector<NodeId> ranked(NodeId parent, rag::SegmentKind kind) const {
    const rag::Tree& tree = record_->tree;
    std::vector<NodeId> ids = tree.children(parent);
    std::erase_if(ids, [&](NodeId id) { return tree.action(id).kind != kind || tree[id].reason == Reason::malformed || !reward(id); });
    std::stable_sort(ids.begin(), ids.end(), [&](NodeId a, NodeId b) {
      return reward(a) != reward(b) ? *reward(a) > *reward(b) : tree[a].prior > tree[b].prior;
    });
    return ids;
  }
  [[nodiscard]] bool is_retrieval(NodeId id) const {
    const rag::SegmentKind kind = record_->tree.action(id).kind;
    return kind == rag::SegmentKind::own_answer || kind == rag::SegmentKind::query;
  }

  /// A decision is worth its best execution.
  void decision(const char* which, const std::vector<NodeId>& a, const std::vector<NodeId>& b, NodeId parent, const PolicyForm& form) {
    if (a.empty() || b.empty()) return;
    const bool first = *reward(a.front()) >= *reward(b.front());
    pair("decision", which, first ? a.front() : b.front(), first ? b.front() : a.front(), parent, form);
  }

  void pair(const char* type, const char* which, NodeId chosen, NodeId rejected, NodeId parent, const PolicyForm& form) {
    const rag::Tree& tree = record_->tree;
    const double margin = *reward(chosen) - *reward(rejected);
    const std::string better = form.step(tree.action(chosen)), worse = form.step(tree.action(rejected));
    if (!(margin > 0) || margin < options_.margin || better == worse) return;
    const std::string& id = tree.state(parent).question().id;
    JsonWriter json(*out_);
    json.begin_object().field("id", id + '#' + std::to_string(parent) + '-' + std::to_string(chosen) + '-' + std::to_string(rejected) + '-' + type);
    json.field("type", type).field("decision", which).field("chosen_kind", rag::name(tree.action(chosen).kind));
    json.field("rejected_kind", rag::name(tree.action(rejected).kind)).field("prompt", form.prompt() + form.begun());
    json.field("chosen", better).field("rejected", worse).key("provenance").begin_object().field("tree", id).field("parent", parent);
    json.field("chosen_node", chosen).field("rejected_node", rejected).field("chosen_reward", *reward(chosen));
    json.field("rejected_reward", *reward(rejected)).field("margin", margin).field("method", record_->method).field("seed", record_->seed);
    json.key("options").raw(record_->options).end_object().end_object();
    *out_ += '\n';
  }

  const TreeRecord* record_;
  DpoOptions options_;
  std::string* out_;
  std::vector<std::optional<double>> own_;
};

}  // namespace detail

/// Appends the tree's preference pairs (DecEx-RAG, section 2.3): at every node of the chosen chain decision pairs (answer or
/// sub-question, own knowledge or retrieval) and execution pairs (the best of a kind over each worse sibling). The prompt
/// ends where the step begins, so that chosen and rejected hold the tokens of that step alone. The options in the
/// provenance say which search mode the pair comes from.
inline void append_dpo_rows(const TreeRecord& record, const rag::PromptSet& prompts, const DpoOptions& options, std::string& out) {
  const rag::Tree& tree = record.tree;
  const auto best = best_answer(tree);
  if (!best) return;
  detail::PairWriter pairs(record, options, out);
  PolicyForm form(prompts, tree.state(tree.root()).question());
  for (const NodeId id : tree.path(best->node)) {
    if (id != tree.root()) form.add(tree.action(id), tree.state(id).transcript());
    if (!tree.state(id).answer()) pairs.write(id, form);
  }
}

}  // namespace espalier::output
