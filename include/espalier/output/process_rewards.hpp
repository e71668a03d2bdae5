#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/output/tree_record.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

struct ProcessRewardOptions {
  double alpha = 0.9;     ///< an answer is worth its F1 * alpha^depth, (0, 1]
  double margin = 0.01;   ///< least difference of two siblings that make a pair, >= 0, up to 1e-9
};

/// Rewards of a search's steps, from the leaves up (ReasonRAG): a node with an answer is worth its F1 * alpha^depth, an
/// inner node the mean of its children, each weighted by its visits, any other leaf the value it was given. Index = node;
/// nothing for nodes that were never visited, and without gold.
inline std::vector<std::optional<double>> process_rewards(const rag::Tree& tree, double alpha) {
  std::vector<std::optional<double>> rewards(tree.size());
  if (!tree.state(tree.root()).has_gold()) return rewards;
  std::vector<int> depth(tree.size(), 0);
  for (NodeId id = 1; id < tree.size(); ++id) depth[id] = depth[tree[id].parent] + 1;
  for (auto id = static_cast<NodeId>(tree.size()); id-- > 0;) {
    if (tree[id].visits == 0) continue;
    const rag::State& state = tree.state(id);
    double sum = 0, weight = 0;
    for (const NodeId child : tree.children(id))
      if (rewards[child]) sum += *rewards[child] * tree[child].visits, weight += tree[child].visits;
    if (const auto answer = state.answer()) rewards[id] = rag::score(rag::Profile::common, answer, state.gold()).f1 * std::pow(alpha, depth[id]);
    else rewards[id] = weight > 0 ? sum / weight : tree[id].mean();
  }
  return rewards;
}

/// Appends a preference pair for every two siblings of equal or different kind whose rewards differ by the margin and
/// whose texts differ: ReasonRAG's training data, with the prompt in the form in which the search asked it.
inline void append_sibling_pairs(const TreeRecord& record, const rag::PromptSet& prompts, const ProcessRewardOptions& options, std::string& out) {
  const rag::Tree& tree = record.tree;
  const auto rewards = process_rewards(tree, options.alpha);
  const auto said = [&](NodeId id) {
    const rag::Action& action = tree.action(id);
    const Tag* tag = prompts.protocol()->tag(rag::role(action.kind));
    const std::string marked = (tag ? tag->open + ' ' : "") + rag::neutralise(action.text) + (tag ? ' ' + tag->close : "");
    return action.thought.empty() ? marked : rag::neutralise(action.thought) + '\n' + marked;
  };
  for (NodeId parent = 0; parent < tree.size(); ++parent) {
    std::vector<NodeId> children = tree.children(parent);
    std::erase_if(children, [&](NodeId id) { return !rewards[id] || tree[id].reason == Reason::malformed; });
    for (std::size_t i = 0; i < children.size(); ++i)
      for (std::size_t j = i + 1; j < children.size(); ++j) {
        const bool first = *rewards[children[i]] > *rewards[children[j]];
        const NodeId chosen = first ? children[i] : children[j], rejected = first ? children[j] : children[i];
        const double gap = *rewards[chosen] - *rewards[rejected];
        const std::string better = said(chosen), worse = said(rejected);
        if (!(gap > 0) || gap < options.margin - 1e-9 || better == worse) continue;
        const rag::State& from = tree.state(parent);
        const std::string& id = from.question().id;
        JsonWriter json(out);
        json.begin_object().field("id", id + '#' + std::to_string(chosen) + '>' + std::to_string(rejected));
        json.field("instruction", "Solve the question step by step with a search engine.").field("input", from.question().text);
        json.field("prompt", "Question: " + rag::neutralise(from.question().text) + '\n' + rag::render_history(from.transcript(), *prompts.protocol()).text);
        json.field("chosen", better).field("rejected", worse);
        json.field("chosen_action_type", rag::name(tree.action(chosen).kind)).field("chosen_content", tree.action(chosen).text);
        json.field("rejected_action_type", rag::name(tree.action(rejected).kind)).field("rejected_content", tree.action(rejected).text);
        json.field("layer", tree.path(chosen).size() - 1).key("provenance").begin_object().field("tree", id).field("parent", parent);
        json.field("chosen_node", chosen).field("rejected_node", rejected).field("chosen_reward", *rewards[chosen]);
        json.field("rejected_reward", *rewards[rejected]).field("margin", gap).field("method", record.method).field("seed", record.seed);
        json.key("options").raw(record.options).end_object().end_object();
        out += '\n';
      }
  }
}

}  // namespace espalier::output
