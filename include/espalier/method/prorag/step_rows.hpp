#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/detail/demonstrations.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/method/prorag/detail/judge.hpp>
#include <espalier/method/prorag/step_format.hpp>
#include <espalier/output/sft.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Data of single steps (ProRAG): the prompt "step" with the history before, and the step as later histories show it.
namespace espalier::method {

namespace detail {

/// The prompt with which the next steps of a state are drawn.
inline std::string step_prompt(const rag::State& state, const rag::PromptSet& prompts) {
  return prompt_text(prompts, "step", history_slots(state.question(), state.transcript(), *prompts.protocol()));
}
inline void write_provenance(JsonWriter& json, const output::TreeRecord& record, NodeId node) {
  const rag::Tree& tree = record.tree;
  record.begin_provenance(json).field("node", node).field("value", tree[node].mean());
  json.field("visits", tree[node].visits).field("process_reward", tree.annotation("process_reward", node));
}
/// The ends of paths that keep the schema and have a right answer.
inline std::vector<NodeId> right_ends(const rag::Tree& tree, rag::Profile profile) {
  std::vector<NodeId> ends = output::correct_chains(tree, profile);
  std::erase_if(ends, [&](NodeId id) { return !well_formed_path(tree, id); });
  return ends;
}

/// A span [begin, end) of a completion in code points, and the weight of its tokens in the loss.
struct WeightedSpan {
  std::size_t begin, end;
  double weight;
};

/// The weights of a completion (ProRAG, Eq. 1): lambda for all its marks, 1 for the rest. With lambda = 0 they are
/// those of the published code: 5 for the marks of an answer, 3 for those of a query or conclusion, 2 for the mark that
/// closes a thought, 1 for the one that opens it. The spans are in order and cover the completion.
inline std::vector<WeightedSpan> token_weights(std::string_view completion, const Protocol& protocol,
                                               double lambda = 0) {
  struct Weights {
    std::string_view role;
    double open, close;
  };
  constexpr std::array<Weights, 4> code{{{"answer", 5, 5}, {"search", 3, 3}, {"sub_answer", 3, 3}, {"thought", 1, 2}}};
  std::vector<std::pair<std::string_view, double>> marks;
  for (const Weights& own : code)
    if (const Protocol::Tag* tag = protocol.tag(own.role)) {
      marks.emplace_back(tag->open, lambda > 0 ? lambda : own.open);
      marks.emplace_back(tag->close, lambda > 0 ? lambda : own.close);
    }
  std::vector<WeightedSpan> spans;
  std::size_t written = 0;
  const auto put = [&](std::size_t bytes, double weight) {
    const std::size_t end = written + output::detail::code_points(completion.substr(0, bytes));
    if (!spans.empty() && spans.back().weight == weight) spans.back().end = end;
    else if (end > written) spans.push_back({written, end, weight});
    written = end;
    completion.remove_prefix(bytes);
  };
  while (!completion.empty()) {
    std::size_t at = completion.size(), length = 0;
    double weight = 1;
    for (const auto& [mark, own] : marks)
      if (const std::size_t found = mark.empty() ? completion.npos : completion.find(mark); found < at)
        at = found, length = mark.size(), weight = own;
    put(at, 1);
    put(length, weight);
  }
  return spans;
}

/// Appends a row {id, history, completion, weights} for a step from a state. Its id is the question's with a suffix.
void write_sft_row(const output::TreeRecord& record, const rag::State& from, const rag::Action& action,
                   const std::string& suffix, const rag::PromptSet& prompts, double lambda, std::string& out,
                   const auto& provenance) {
  const std::string completion = step_text(action, *prompts.protocol());
  JsonWriter json(out);
  json.begin_object().field("id", from.question().id + suffix).field("history", step_prompt(from, prompts));
  json.field("completion", completion).key("weights").begin_array();
  for (const WeightedSpan& span : token_weights(completion, *prompts.protocol(), lambda))
    json.begin_array().value(span.begin).value(span.end).value(span.weight).end_array();
  provenance(json.end_array());
  record.end_row(json, out);
}

}  // namespace detail

/// Appends a row {id, history, completion, weights} for each step of a right path. `lambda` is that of token_weights.
inline void append_step_sft_rows(const output::TreeRecord& record, const rag::PromptSet& prompts,
                                 const output::SftOptions& options, double lambda, std::string& out) {
  const rag::Tree& tree = record.tree;
  const std::optional<NodeId> end = output::correct_chain(tree, options.choice, options.profile);
  if (!end || !detail::well_formed_path(tree, *end)) return;
  for (const NodeId id : tree.path(*end)) {
    if (id == tree.root()) continue;
    detail::write_sft_row(record, tree.state(tree[id].parent), tree.action(id), '#' + std::to_string(id), prompts,
                          lambda, out, [&](JsonWriter& json) { detail::write_provenance(json, record, id); });
  }
}

struct RefinementOptions {
  double threshold = 0;
  rag::Profile profile = rag::Profile::common;  ///< decides whether an answer is right

  void describe(auto& table) {
    table.add("rft_threshold", threshold, "process reward above which a step becomes refinement data", Range::any());
  }
};

/// Appends a row {id, input, output} for every step of a right path whose process reward passes the threshold:
/// refinement by rejection sampling. Returns the number of steps left out because they have no score.
inline std::size_t append_rft_rows(const output::TreeRecord& record, const rag::PromptSet& prompts,
                                   const RefinementOptions& options, std::string& out) {
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
    json.begin_object().field("id", tree.state(0).question().id + '#' + std::to_string(id));
    json.field("input", detail::step_prompt(tree.state(tree[id].parent), prompts));
    json.field("output", detail::step_text(tree.action(id), *prompts.protocol()));
    detail::write_provenance(json, record, id);
    record.end_row(json, out);
  }
  return unscored;
}

/// Appends a row for every pair of siblings that a judge decided. The history is the parent's, with all documents.
inline void append_prm_pairs(const output::TreeRecord& record, const rag::PromptSet& prompts, std::string& out) {
  const rag::Tree& tree = record.tree;
  struct Pair {
    NodeId chosen;
    const std::string* name;
    double rejected;
  };
  std::vector<Pair> pairs;
  for (const auto& [name, others] : tree.annotations)
    for (NodeId id = 1; id < others.size(); ++id)
      if (name.starts_with(detail::ProRagJudge::annotation) && !std::isnan(others[id]))
        pairs.push_back({id, &name, others[id]});
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.chosen < b.chosen; });
  for (const Pair& pair : pairs) {
    const NodeId chosen = pair.chosen, rejected = static_cast<NodeId>(pair.rejected);
    const rag::State& from = tree.state(tree[chosen].parent);
    JsonWriter json(out);
    const auto side = [&](const char* name, NodeId id) {
      json.key(name).begin_object().field("new_step", detail::step_text(tree.action(id), *prompts.protocol()));
      json.key("mcts_stats").begin_object().field("q", tree[id].mean()).field("n", tree[id].visits);
      json.end_object().end_object();
    };
    json.begin_object().field("id", from.question().id + '#' + std::to_string(chosen) + '>' + std::to_string(rejected));
    json.field("type", rag::name(tree.action(chosen).kind));
    json.key("input").begin_object().field("question", from.question().text);
    json.field("history", rag::render_history(from.transcript(), *prompts.protocol()).text).end_object();
    side("chosen", chosen);
    side("rejected", rejected);
    const auto why = std::ranges::find_if(
        tree.remarks, [&](const SearchFacts::Remark& r) { return r.name == *pair.name && r.node == chosen; });
    json.key("label").begin_object().field("reason", why == tree.remarks.end() ? "" : why->text);
    json.field("chosen_reward", tree.annotation("process_reward", chosen));
    json.field("rejected_reward", tree.annotation("process_reward", rejected)).end_object();
    detail::write_provenance(json, record, chosen);
    record.end_row(json, out);
  }
}

}  // namespace espalier::method
