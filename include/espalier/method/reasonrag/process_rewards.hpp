#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/reasonrag/prompts.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/metrics.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier::method {

struct ProcessRewardOptions {
  enum class Leaves : std::uint8_t {
    answers,  ///< only leaves with an answer have a reward
    free,     ///< the same without answers that were forced (published code)
    all       ///< any other leaf has its own value: for values that are on the scale of the rewards
  };
  double alpha = 0.9;  ///< an answer has the value F1 * alpha^depth
  Leaves leaves = Leaves::answers;
  rag::Profile profile = rag::Profile::common;
  double margin = 0.01;  ///< with a tolerance of 1e-9

  void describe(auto& table) {
    table.add("alpha", alpha, "what each step leaves of an answer's F1 in preference pairs", Range::above(0).up_to(1))
        .add("leaves", leaves,
             "leaves with a reward in preference pairs: with an answer, with an answer that was not forced, or all by "
             "their own value",
             {"answers", "free", "all"})
        .add("profile", profile, "scoring profile of F1 in preference pairs", rag::detail::profile_names())
        .add("margin", margin, "least difference of two rewards that make a preference pair", Range::at_least(0));
  }
};

/// Rewards of a search's steps, from the leaves up (ReasonRAG). A node with an answer has F1 * alpha^depth. An inner
/// node has the mean of its children that have a reward, weighted by visits. Index = node. Nothing for nodes that were
/// never visited, and nothing without gold.
inline std::vector<std::optional<double>> process_rewards(const rag::Tree& tree, const ProcessRewardOptions& options) {
  using Leaves = ProcessRewardOptions::Leaves;
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
    const bool forced = options.leaves == Leaves::free && tree.action(id).forced;
    if (const auto answer = state.answer(); answer && !forced)
      rewards[id] = rag::score(options.profile, answer, state.gold()).f1 * std::pow(options.alpha, depth[id]);
    else if (weight > 0) rewards[id] = sum / weight;
    else if (options.leaves == Leaves::all) rewards[id] = tree[id].mean();
  }
  return rewards;
}

/// Appends a preference pair for every two siblings whose rewards differ by the margin and whose texts differ. The
/// prompt is the one with which the search drew the chosen step, documents included. This is ReasonRAG's training data.
inline void append_sibling_pairs(const output::TreeRecord& record, const rag::PromptSet& prompts,
                                 const ProcessRewardOptions& options, std::string& out) {
  const rag::Tree& tree = record.tree;
  const auto rewards = process_rewards(tree, options);
  for (NodeId parent = 0; parent < tree.size(); ++parent) {
    std::vector<NodeId> children = tree.children(parent);
    std::erase_if(children, [&](NodeId id) { return !rewards[id] || tree[id].reason == Reason::malformed; });
    for (std::size_t i = 0; i < children.size(); ++i)
      for (std::size_t j = i + 1; j < children.size(); ++j) {
        const bool first = *rewards[children[i]] > *rewards[children[j]];
        const NodeId chosen = first ? children[i] : children[j], rejected = first ? children[j] : children[i];
        const double gap = *rewards[chosen] - *rewards[rejected];
        const rag::State& from = tree.state(parent);
        const std::string purpose = detail::next_purpose(from, tree.action(chosen).forced);
        const std::string better = detail::reply_text(*prompts.protocol(), tree.action(chosen)),
                          worse = detail::reply_text(*prompts.protocol(), tree.action(rejected));
        if (!(gap > 0) || gap < options.margin - 1e-9 || better == worse) continue;
        const std::string& id = from.question().id;
        JsonWriter json(out);
        json.begin_object().field("id", id + '#' + std::to_string(chosen) + '>' + std::to_string(rejected));
        const std::string prompt = detail::prompt_text(prompts, purpose, detail::next_slots(from, *prompts.protocol()));
        json.field("instruction", prompt).field("input", "").field("prompt", prompt);
        json.field("chosen", better).field("rejected", worse);
        json.field("chosen_action_type", rag::name(tree.action(chosen).kind));
        json.field("chosen_content", tree.action(chosen).text);
        json.field("rejected_action_type", rag::name(tree.action(rejected).kind));
        json.field("rejected_content", tree.action(rejected).text).field("layer", tree.path(chosen).size() - 1);
        record.begin_provenance(json).field("parent", parent).field("chosen_node", chosen);
        json.field("rejected_node", rejected).field("chosen_reward", *rewards[chosen]);
        json.field("rejected_reward", *rewards[rejected]).field("margin", gap);
        record.end_row(json, out);
      }
  }
}

}  // namespace espalier::method
