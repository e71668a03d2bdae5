#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/output/chain.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::method {

namespace detail {

/// How often paths through a state reached an answer, and how often a good one.
struct StateScore {
  std::uint64_t completions = 0, good = 0;
};

/// Monte-Carlo scores of a tree's states (AirRAG, section 3.3). For each node they count the complete chains through
/// it, and those whose answer has an F1 of `threshold` or more. Throws std::invalid_argument without gold.
inline std::vector<StateScore> state_scores(const rag::Tree& tree, double threshold) {
  std::vector<StateScore> scores(tree.size());
  for (const NodeId end : output::complete_chains(tree)) {
    const bool good =
        rag::score(rag::Profile::common, tree.state(end).answer(), tree.state(end).gold()).f1 >= threshold;
    for (NodeId id = end; id != no_node; id = tree[id].parent) {
      ++scores[id].completions;
      scores[id].good += good;
    }
  }
  return scores;
}

}  // namespace detail

/// Appends a row for every complete chain: its steps, each with the share of good chains through the state it led to.
inline void append_state_scores(const output::TreeRecord& record, double threshold, std::string& out) {
  const rag::Tree& tree = record.tree;
  const std::vector<detail::StateScore> scores = detail::state_scores(tree, threshold);
  const rag::Question& question = tree.state(tree.root()).question();
  for (const NodeId end : output::complete_chains(tree)) {
    const double f1 = rag::score(rag::Profile::common, tree.state(end).answer(), tree.state(end).gold()).f1;
    JsonWriter json(out);
    json.begin_object().field("id", question.id + '#' + std::to_string(end)).field("question", question.text);
    json.field("answer", tree.state(end).answer()).field("f1", f1).field("good", f1 >= threshold);
    json.key("steps").begin_array();
    for (const NodeId id : tree.path(end)) {
      if (id == tree.root()) continue;
      json.begin_object().key("segments").begin_array();
      for (const rag::Segment* segment : tree.state(id).transcript().since(tree.state(tree[id].parent).transcript())) {
        if (segment->documents()) continue;
        json.begin_object().field("kind", rag::name(segment->kind())).field("text", segment->words()).end_object();
      }
      json.end_array().field("score", double(scores[id].good) / double(scores[id].completions));
      json.field("completions", scores[id].completions).field("node", id).end_object();
    }
    record.begin_provenance(json.end_array()).field("node", end).field("threshold", threshold);
    record.end_row(json, out);
  }
}

}  // namespace espalier::method
