#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/sft.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

struct DpoOptions {
  enum class DecisionValue : std::uint8_t { best, mean };
  double margin = 0.1;  ///< smallest difference of the two values, >= 0, tolerance 1e-9. Equal values never make a pair
  DecisionValue decision_value = DecisionValue::best;  ///< how rewards of executions give a decision's value
  ChainChoice choice = ChainChoice::most;              ///< the chain whose nodes give the pairs, as for the SFT rows
  rag::Profile profile = rag::Profile::common;         ///< decides whether an answer is correct
  std::uint32_t rollouts = 0;  ///< a node that rollouts valued needs so many, those that could not be read included, to
                               ///< stand in a pair. 0 = any number
};

namespace detail {

/// Writes the preference pairs at the nodes of a chain.
class PairWriter {
 public:
  PairWriter(const TreeRecord& record, const DpoOptions& options, std::string& out)
      : record_(record), tree_(record.tree), options_(options), out_(out), values_(rewards(tree_)) {
    for (NodeId id = 0; id < tree_.size(); ++id)  // Full-Node: inner nodes have the mean of their leaves
      if (!values_[id] && tree_[id].visits) values_[id] = tree_[id].mean();
    std::vector<std::uint32_t> drawn(tree_.size(), 0);
    for (const auto& rollout : tree_.rollouts) ++drawn[rollout.node];
    for (NodeId id = 0; id < tree_.size(); ++id) {
      const double unread = tree_.annotation("unread_rollouts", id);
      const bool complete = drawn[id] + (unread > 0 ? unread : 0) >= options_.rollouts;
      if (!complete && !tree_.state(id).answer()) values_[id].reset();
    }
  }

  /// Writes the pairs among the children of `parent`. `form` is the policy's text up to there. Queries without a
  /// sub-question are the policy's own steps: the decision to go on.
  void write(NodeId parent, const PolicyForm& form) {
    using rag::SegmentKind;
    const auto answers = ranked(parent, SegmentKind::answer), questions = ranked(parent, SegmentKind::sub_question),
               memories = ranked(parent, SegmentKind::own_answer), queries = ranked(parent, SegmentKind::query);
    const bool steps = questions.empty() && memories.empty() && !tree_.state(parent).open_sub_question();
    decide("termination", answers, steps ? queries : questions, parent, form);
    if (!steps) decide("retrieval", memories, queries, parent, form);
  }

 private:
  /// The children of a kind that have a value, best first.
  [[nodiscard]] std::vector<NodeId> ranked(NodeId parent, rag::SegmentKind kind) const {
    std::vector<NodeId> ids = tree_.children(parent);
    std::erase_if(ids, [&](NodeId id) {
      return tree_.action(id).kind != kind || tree_[id].reason == Reason::malformed || !values_[id];
    });
    std::sort(ids.begin(), ids.end(), Better{tree_, values_});
    return ids;
  }

  [[nodiscard]] double decision_value(const std::vector<NodeId>& executions) const {
    if (options_.decision_value == DpoOptions::DecisionValue::best) return *values_[executions.front()];
    double sum = 0;
    for (const NodeId id : executions) sum += *values_[id];
    return sum / static_cast<double>(executions.size());
  }

  /// Writes one pair between the two sides of a decision, each shown by its best execution. Also writes one pair
  /// between the best execution of each side and each worse one.
  void decide(const char* decision, const std::vector<NodeId>& a, const std::vector<NodeId>& b, NodeId parent,
              const PolicyForm& form) {
    if (!a.empty() && !b.empty()) {
      const double va = decision_value(a), vb = decision_value(b);
      if (va > vb) pair("decision", decision, a.front(), va, b.front(), vb, parent, form);
      else pair("decision", decision, b.front(), vb, a.front(), va, parent, form);
    }
    for (const auto* executions : {&a, &b})
      for (std::size_t i = 1; i < executions->size(); ++i) {
        const NodeId best = executions->front(), worse = (*executions)[i];
        pair("execution", decision, best, *values_[best], worse, *values_[worse], parent, form);
      }
  }

  void pair(const char* type, const char* decision, NodeId chosen, double better, NodeId rejected, double worse,
            NodeId parent, const PolicyForm& form) {
    const double margin = better - worse;
    const std::string accepted = form.step(tree_.action(chosen)), refused = form.step(tree_.action(rejected));
    if (!(margin > 0) || margin < options_.margin - 1e-9 || accepted == refused) return;
    const auto id = tree_.state(parent).question().id + '#' + std::to_string(chosen) + '>' + std::to_string(rejected);
    JsonWriter json(out_);
    json.begin_object().field("id", id).field("type", type).field("decision", decision);
    json.field("chosen_kind", rag::name(tree_.action(chosen).kind));
    json.field("rejected_kind", rag::name(tree_.action(rejected).kind));
    json.field("prompt", form.prompt() + form.begun()).field("chosen", accepted).field("rejected", refused);
    record_.begin_provenance(json).field("parent", parent);
    json.field("chosen_node", chosen).field("rejected_node", rejected);
    json.field("chosen_reward", better).field("rejected_reward", worse).field("margin", margin);
    record_.end_row(json, out_);
  }

  const TreeRecord& record_;
  const rag::Tree& tree_;
  DpoOptions options_;
  std::string& out_;
  std::vector<std::optional<double>> values_;
};

}  // namespace detail

/// Appends the tree's preference pairs (DecEx-RAG, section 2.3) at every node of the chain of the SFT rows, or on the
/// way to the best answer if no chain is correct. There are decision pairs (answer or sub-question, own knowledge or
/// retrieval) and execution pairs (the best of a kind over each worse sibling). The prompt ends where the step begins,
/// so chosen and rejected hold only the text of that step. Throws std::invalid_argument for a bad option.
inline void append_dpo_rows(const TreeRecord& record, const rag::PromptSet& prompts, const DpoOptions& options,
                            std::string& out) {
  if (!(options.margin >= 0)) bad_option("margin", options.margin, "0 or more");
  const rag::Tree& tree = record.tree;
  std::optional<NodeId> end = correct_chain(tree, options.choice, options.profile);
  if (const auto best = best_answer(tree); best && !end) end = best->node;
  if (!end) return;
  detail::PairWriter pairs(record, options, out);
  detail::PolicyForm form(prompts, tree.state(tree.root()).question());
  for (const NodeId id : tree.path(*end)) {
    if (id != tree.root()) form.add(tree.action(id), tree.state(id).transcript());
    pairs.write(id, form);
  }
}

}  // namespace espalier::output
