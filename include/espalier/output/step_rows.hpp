#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/output/step_format.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

/// Data of single steps (ProRAG): a prompt is the template "step" over the history before the step, a completion the step as
/// later histories show it, its thought included.
namespace espalier::output {

namespace detail {

/// The prompt under which a node's children were drawn.
inline std::string step_prompt(const rag::Tree& tree, NodeId node, const rag::PromptSet& prompts) {
  const rag::State& state = tree.state(node);
  return prompts
      .render("step", {{"question", rag::render_text(state.question().text)}, {"history", rag::render_history(state.transcript(), *prompts.protocol())}}, {})
      ->messages.back()
      .content;
}
inline void write_provenance(JsonWriter& json, const TreeRecord& record, NodeId node) {
  const rag::Tree& tree = record.tree;
  json.key("provenance").begin_object().field("tree", tree.state(0).question().id).field("node", node).field("value", tree[node].mean());
  json.field("visits", tree[node].visits).field("process_reward", tree.annotation("process_reward", node));
  json.field("method", record.method).field("seed", record.seed).key("options").raw(record.options).end_object();
}
/// The ends of paths that keep the schema and give a right answer.
inline std::vector<NodeId> right_ends(const rag::Tree& tree, rag::Profile profile) {
  std::vector<NodeId> ends = complete_chains(tree);
  std::erase_if(ends, [&](NodeId id) {
    const rag::State& end = tree.state(id);
    return !end.has_gold() || rag::score(profile, end.answer(), end.gold()).em < 1 || !well_formed_path(tree, id);
  });
  return ends;
}

}  // namespace detail

/// [begin, end) of a completion in code points and what a token there weighs in the loss.
struct WeightedSpan {
  std::size_t begin, end;
  double weight;
};

/// The weights of a completion (ProRAG, Eq. 1): the marks of an answer 5, of a query or conclusion 3, the mark that closes a
/// thought 2, all else 1. The spans follow one another and cover the completion.
inline std::vector<WeightedSpan> token_weights(std::string_view completion, const Protocol& protocol) {
  std::vector<std::pair<std::string_view, double>> marks;
  constexpr std::array<std::pair<std::string_view, double>, 3> roles{{{"answer", 5}, {"search", 3}, {"sub_answer", 3}}};
  for (const auto& [role, weight] : roles)
    if (const Tag* tag = protocol.tag(role)) marks.insert(marks.end(), {{tag->open, weight}, {tag->close, weight}});
  if (const Tag* tag = protocol.tag("thought")) marks.emplace_back(tag->close, 2);
  std::vector<WeightedSpan> spans;
  std::size_t written = 0;
  const auto put = [&](std::size_t bytes, double weight) {
    const std::size_t end = written + code_points(completion.substr(0, bytes));
    if (end > written) spans.push_back({written, end, weight});
    written = end;
    completion.remove_prefix(bytes);
  };
  while (!completion.empty()) {
    std::size_t at = completion.size(), length = 0;
    double weight = 1;
    for (const auto& [mark, own] : marks)
      if (const std::size_t found = mark.empty() ? completion.npos : completion.find(mark); found < at) at = found, length = mark.size(), weight = own;
    put(at, 1);
    put(length, weight);
  }
  return spans;
}

/// Appends a row a step of a right path, {id, history, completion, weights}: cold-start data.
inline void append_step_sft_rows(const TreeRecord& record, const rag::PromptSet& prompts, const SftOptions& options, std::string& out) {
  const rag::Tree& tree = record.tree;
  const std::optional<NodeId> end = correct_chain(tree, options.choice, options.profile);
  if (!end || !well_formed_path(tree, *end)) return;
  for (const NodeId id : tree.path(*end)) {
    if (id == tree.root()) continue;
    const std::string completion = step_text(tree.action(id), *prompts.protocol());
    JsonWriter json(out);
    json.begin_object().field("id", tree.state(0).question().id + '#' + std::to_string(id)).field("history", detail::step_prompt(tree, tree[id].parent, prompts));
    json.field("completion", completion).key("weights").begin_array();
    for (const WeightedSpan& span : token_weights(completion, *prompts.protocol())) json.begin_array().value(span.begin).value(span.end).value(span.weight).end_array();
    json.end_array();
    detail::write_provenance(json, record, id);
    json.end_object();
    out += '\n';
  }
}

struct RefinementOptions {
  double threshold = 0;                         ///< a step's process reward must lie strictly above
  rag::Profile profile = rag::Profile::common;  ///< under which an answer is right
};

/// Appends a row {id, input, output} for every step of a right path whose process reward passes: refinement by rejection
/// sampling. Returns how many steps of right paths were left out because nobody scored them.
inline std::size_t append_rft_rows(const TreeRecord& record, const rag::PromptSet& prompts, const RefinementOptions& options, std::string& out) {
  const rag::Tree& tree = record.tree;
  std::vector<bool> right(tree.size());
  for (const NodeId end : detail::right_ends(tree, options.profile))
    for (const NodeId id : tree.path(end)) right[id] = true;
  std::size_t unscored = 0;
  for (NodeId id = 1; id < tree.size(); ++id) {
    const double reward = tree.annotation("process_reward", id);
    if (right[id] && std::isnan(reward)) ++unscored;
    if (!right[id] || !(reward > options.threshold)) continue;
    JsonWriter json(out);
    json.begin_object().field("id", tree.state(0).question().id + '#' + std::to_string(id)).field("input", detail::step_prompt(tree, tree[id].parent, prompts));
    json.field("output", step_text(tree.action(id), *prompts.protocol()));
    detail::write_provenance(json, record, id);
    json.end_object();
    out += '\n';
  }
  return unscored;
}

/// Appends a row for every pair of siblings that a judge has decided: data of a process reward model. The history is that
/// of their parent, queries and conclusions with all documents.
inline void append_prm_pairs(const TreeRecord& record, const rag::PromptSet& prompts, std::string& out) {
  const rag::Tree& tree = record.tree;
  for (NodeId chosen = 1; chosen < tree.size(); ++chosen) {
    const double other = tree.annotation("preferred_over", chosen);
    if (std::isnan(other)) continue;
    const auto rejected = static_cast<NodeId>(other);
    const rag::State& from = tree.state(tree[chosen].parent);
    JsonWriter json(out);
    const auto side = [&](const char* name, NodeId id) {
      json.key(name).begin_object().field("new_step", step_text(tree.action(id), *prompts.protocol())).key("mcts_stats").begin_object();
      json.field("q", tree[id].mean()).field("n", tree[id].visits).end_object().end_object();
    };
    json.begin_object().field("id", from.question().id + '#' + std::to_string(chosen) + '>' + std::to_string(rejected));
    json.field("type", rag::name(tree.action(chosen).kind)).key("input").begin_object().field("question", from.question().text);
    json.field("history", rag::render_history(from.transcript(), *prompts.protocol()).text).end_object();
    side("chosen", chosen);
    side("rejected", rejected);
    const auto why = std::find_if(tree.remarks.begin(), tree.remarks.end(), [&](const Remark& r) { return r.name == "preferred_over" && r.node == chosen; });
    json.key("label").begin_object().field("reason", why == tree.remarks.end() ? "" : why->text);
    json.field("chosen_reward", tree.annotation("process_reward", chosen)).field("rejected_reward", tree.annotation("process_reward", rejected)).end_object();
    detail::write_provenance(json, record, chosen);
    json.end_object();
    out += '\n';
  }
}

}  // namespace espalier::output
