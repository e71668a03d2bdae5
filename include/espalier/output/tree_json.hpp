#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/rag/state.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier::output {

/// A finished tree with what its provenance needs.
struct TreeRecord {
  const rag::Tree& tree;
  std::string method;
  std::uint64_t seed = 0;   ///< of the run
  std::string options;      ///< the search options as a JSON object
};

inline const char* name(Status status) {
  static constexpr const char* names[] = {"open", "growing", "expanded", "terminal", "pruned"};
  return names[static_cast<std::size_t>(status)];
}
inline const char* name(Reason reason) {
  static constexpr const char* names[] = {"none", "outvoted", "below_threshold", "not_best", "skipped", "malformed", "budget"};
  return names[static_cast<std::size_t>(reason)];
}
inline const char* name(Ending ending) { return ending == Ending::done ? "done" : "budget"; }

/// A node's own reward: the mean over its rollouts, or a terminal node's reward. Index = node; nothing if never evaluated.
inline std::vector<std::optional<double>> rewards(const rag::Tree& tree) {
  std::vector<double> sums(tree.size());
  std::vector<std::size_t> counts(tree.size());
  for (const auto& rollout : tree.rollouts) {
    sums[rollout.node] += rollout.value;
    ++counts[rollout.node];
  }
  std::vector<std::optional<double>> means(tree.size());
  for (NodeId id = 0; id < tree.size(); ++id)
    if (counts[id]) means[id] = sums[id] / static_cast<double>(counts[id]);
  return means;
}

namespace detail {

/// Every passage of a tree once, in order of first appearance.
class DocumentTable {
 public:
  void add(const std::vector<const rag::Segment*>& segments) {
    for (const rag::Segment* segment : segments)
      if (segment->documents())
        for (const Passage& passage : *segment->documents())
          if (known_.emplace(passage.id(), order_.size()).second) order_.push_back(&passage);
  }
  void write(JsonWriter& json) const {
    json.key("documents").begin_object();
    for (const Passage* passage : order_) json.key(passage->id()).begin_object().field("title", passage->title()).field("text", passage->text()).end_object();
    json.end_object();
  }

 private:
  std::map<std::string, std::size_t> known_;
  std::vector<const Passage*> order_;
};

inline void write_documents(JsonWriter& json, const Passages& passages) {
  json.key("documents").begin_array();
  for (const Passage& passage : passages) json.begin_object().field("id", passage.id()).field("score", passage.score()).end_object();
  json.end_array();
}

/// Segments as steps: each ends with a query and its documents, or with the answer.
inline void write_steps(JsonWriter& json, const std::vector<const rag::Segment*>& segments) {
  json.key("steps").begin_array();
  for (const rag::Segment* segment : segments) {
    json.begin_object();
    if (segment->documents()) write_documents(json, *segment->documents());
    else json.field(rag::name(segment->kind()), segment->model_text()->str());
    json.end_object();
  }
  json.end_array();
}

}  // namespace detail

/// Appends the tree as one line of trees.jsonl. Reading it back (tree_reader.hpp) gives an equal tree.
inline void append_tree(const TreeRecord& record, std::string& out) {
  const rag::Tree& tree = record.tree;
  const rag::State& root = tree.state(tree.root());
  const auto since = [&](NodeId id) { return tree.state(id).transcript().since(tree.state(tree[id].parent).transcript()); };
  detail::DocumentTable table;
  for (NodeId id = 1; id < tree.size(); ++id) table.add(since(id));
  for (const auto& rollout : tree.rollouts) table.add(rollout.state.transcript().since(tree.state(rollout.node).transcript()));

  JsonWriter json(out);
  json.begin_object().field("id", root.question().id).field("question", root.question().text).key("golden_answers").begin_array();
  if (root.has_gold())
    for (const auto& answer : root.gold()) json.value(answer);
  json.end_array().field("method", record.method).field("status", name(tree.ending)).field("seed", record.seed).key("options").raw(record.options);
  table.write(json);

  const auto own = rewards(tree);
  json.key("nodes").begin_array();
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto& node = tree[id];
    json.begin_object().field("id", id).key("parent");
    if (id == tree.root()) json.null();
    else json.value(node.parent);
    if (id != tree.root()) {
      const rag::Action& action = tree.action(id);
      json.field("kind", rag::name(action.kind)).field("text", action.text).field("thought", action.thought).field("key", action.key);
      if (action.forced) json.field("forced", true);
      for (const rag::Segment* segment : since(id))
        if (segment->documents()) detail::write_documents(json, *segment->documents());
    }
    json.field("visits", node.visits).field("value", node.mean()).field("total", node.total).key("reward");
    if (own[id]) json.value(*own[id]);
    else json.null();
    json.field("prior", node.prior).field("evaluated", node.evaluated).field("status", name(node.status));
    if (node.reason != Reason::none) json.field("reason", name(node.reason));
    json.end_object();
  }
  json.end_array().key("rollouts").begin_array();
  for (const auto& rollout : tree.rollouts) {
    const auto answer = rollout.state.answer();
    json.begin_object().field("node", rollout.node).field("reward", rollout.value).key("answer");
    if (answer) json.value(*answer);
    else json.null();
    detail::write_steps(json, rollout.state.transcript().since(tree.state(rollout.node).transcript()));
    json.end_object();
  }
  json.end_array().key("skips").begin_array();
  for (const Skip& skip : tree.skips)
    json.begin_object().field("node", skip.node).field("kind", rag::name(static_cast<rag::SegmentKind>(skip.kind))).end_object();
  json.end_array().key("costs").begin_object();
  for (const auto& [purpose, costs] : tree.ledger.by_purpose()) {
    json.key(purpose).begin_object().field("completions", costs.completions).field("prompt_tokens", costs.prompt_tokens);
    json.field("completion_tokens", costs.completion_tokens).field("retrievals", costs.retrievals).end_object();
  }
  json.end_object().end_object();
  out += '\n';
}

}  // namespace espalier::output
