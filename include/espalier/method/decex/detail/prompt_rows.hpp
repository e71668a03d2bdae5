#pragma once

#include <espalier/method/decex/options.hpp>
#include <espalier/method/detail/prompt_rows.hpp>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// The purpose whose prompt gave a node of DecEx-RAG's tree. Where the votes gave at least one sub-question, all
/// sub-questions count as theirs, those of the top-up included.
inline std::string purpose_of(const rag::Tree& tree, NodeId id, const DecExRagOptions& options) {
  using rag::SegmentKind;
  const rag::Action& action = tree.action(id);
  const rag::State& from = tree.state(tree[id].parent);
  if (action.forced) return "forced_answer";
  if (options.form == DecExRagOptions::Form::policy) return "rollout";
  if (action.kind == SegmentKind::query) return "sub_query";
  if (action.kind == SegmentKind::own_answer) return "own_answer";
  if (action.kind == SegmentKind::answer) return "termination";
  if (from.iterations() == 0) return "sub_question";
  double answers = 0;  // share of the votes that gave no sub-question
  for (const NodeId child : tree.children(tree[id].parent))
    if (tree.action(child).kind == SegmentKind::answer) answers += static_cast<double>(tree[child].prior);
  if (answers < 1 - 1e-4) return "termination";
  return options.search == DecExRagOptions::Search::pruned ? "next_question" : "termination";
}

/// Rows of every prompt along a chain: the steps of the search, and those of the first right rollout of each node.
class PromptRows {
 public:
  PromptRows(const output::TreeRecord& record, const rag::PromptSet& prompts, const output::SftOptions& rows,
             const DecExRagOptions& options, NodeId end, std::string& out)
      : tree_(record.tree),
        prompts_(prompts),
        profile_(rows.profile),
        options_(options),
        rows_(record, rows, end, out) {}

  /// The step of a node. A step of the policy is only noted, because append_sft_rows has written it.
  void add_step(NodeId id) {
    const rag::State& from = tree_.state(tree_[id].parent);
    const std::string purpose = purpose_of(tree_, id, options_);
    auto slots = history_slots(from.question(), from.transcript(), *prompts_.protocol());
    if (const std::string* open = from.open_sub_question()) slots.front().second = rag::render_text(*open);
    const std::string name = purpose == "rollout" ? "" : purpose + '@' + std::to_string(id);
    add(name, purpose, slots, tree_.action(id), id);
  }
  /// The first rollout of a node with a right answer.
  void add_rollout(NodeId id) {
    const rag::State& from = tree_.state(id);
    if (from.answer()) return;
    for (const auto& rollout : tree_.rollouts) {
      const std::optional<std::string> answer = rollout.state.answer();
      if (rollout.node != id || !answer || rag::score(profile_, answer, from.gold()).em < 1) continue;
      return follow(id, rollout.state.transcript().since(from.transcript()));
    }
  }

 private:
  /// The steps of a rollout, each under the prompt of its place.
  void follow(NodeId id, const std::vector<const rag::Segment*>& steps) {
    const rag::State& from = tree_.state(id);
    rag::Transcript history;  // of its own, because the tree's is shared
    for (const rag::Segment* segment : from.transcript().segments()) history = history.append(*segment);
    std::uint32_t rounds = from.iterations();
    const rag::Segment* thought = nullptr;
    std::size_t n = 0;
    for (const rag::Segment* segment : steps) {
      if (segment->kind() == rag::SegmentKind::thought) {
        thought = segment;
        continue;
      }
      if (segment->documents()) {
        ++rounds;
      } else {
        const bool forced = rounds >= options_.rollout_rounds;
        const rag::Action action(segment->kind(), segment->words(), thought ? thought->words() : "", "", forced);
        add("rollout@" + std::to_string(id) + '.' + std::to_string(n++), forced ? "forced_answer" : "rollout",
            history_slots(from.question(), history, *prompts_.protocol()), action, id);
        if (thought) history = history.append(*std::exchange(thought, nullptr));
      }
      history = history.append(*segment);
    }
  }

  /// Writes a row whose text is not there yet. Without a name it only notes the text.
  void add(const std::string& name, const std::string& purpose, const Slots& slots, const rag::Action& action,
           NodeId id) {
    const std::string prompt = prompt_text(prompts_, purpose, slots);
    const std::string completion = reply_text(prompts_, purpose, action);
    if (written_.insert(prompt + completion).second && !name.empty())
      rows_.write(name, prompt, completion, {id}, purpose);
  }

  const rag::Tree& tree_;
  const rag::PromptSet& prompts_;
  rag::Profile profile_;
  const DecExRagOptions& options_;
  output::detail::SftWriter rows_;
  std::set<std::string> written_;
};

/// Appends a row for every prompt of the search along the chain of the SFT rows. A prompt is the one that was asked,
/// and its completion is the reply that was read. Nothing if no chain is correct.
inline void append_prompt_rows(const output::TreeRecord& record, const rag::PromptSet& prompts,
                               const output::SftOptions& rows, const DecExRagOptions& options, std::string& out) {
  const auto end = output::correct_chain(record.tree, rows.choice, rows.profile);
  if (!end) return;
  std::vector<NodeId> chain = record.tree.path(*end);
  chain.erase(chain.begin());
  PromptRows writer(record, prompts, rows, options, *end, out);
  for (const NodeId id : chain) writer.add_step(id);
  for (const NodeId id : chain) writer.add_rollout(id);
}

}  // namespace espalier::method::detail
