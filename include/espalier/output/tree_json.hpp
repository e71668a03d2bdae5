#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/utf8.hpp>
#include <espalier/output/chain.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::output {

namespace detail {

using Segments = std::vector<const rag::Segment*>;

/// Every passage of a tree once, in order, under its id. Further texts of one id are under "id#2", "id#3" ...
class DocumentTable {
 public:
  void add(const Segments& segments) {
    for (const rag::Segment* segment : segments)
      if (segment->documents())
        for (const Passage& passage : *segment->documents()) file(passage);
  }
  [[nodiscard]] const std::string& key(const Passage& passage) { return file(passage); }
  void write(JsonWriter& json) const {
    json.key("documents").begin_object();
    for (const auto* entry : order_) {
      const Passage& passage = *entry->second;
      json.key(entry->first).begin_object();
      if (entry->first != valid(passage.id())) json.field("id", passage.id());
      json.field("title", passage.title()).field("text", passage.text()).end_object();
    }
    json.end_object();
  }

 private:
  using Entry = std::pair<const std::string, const Passage*>;
  /// The id as JSON will hold it, in valid UTF-8.
  static std::string valid(const std::string& id) {
    return espalier::detail::is_ascii(id) ? id : espalier::detail::encode_utf8(espalier::detail::decode_utf8(id));
  }
  const std::string& file(const Passage& passage) {
    const std::string id = valid(passage.id());
    for (std::size_t n = 1;; ++n) {
      const auto [entry, fresh] = entries_.try_emplace(n == 1 ? id : id + '#' + std::to_string(n), &passage);
      if (fresh) order_.push_back(&*entry);
      if (entry->second->scored(0) == passage.scored(0)) return entry->first;
    }
  }

  std::map<std::string, const Passage*> entries_;
  std::vector<const Entry*> order_;
};

class TreeWriter {
 public:
  TreeWriter(const TreeRecord& record, std::string& out) : record_(record), tree_(record.tree), json_(out) {
    for (NodeId id = 1; id < tree_.size(); ++id) documents_.add(own_segments(id));
    for (const auto& rollout : tree_.rollouts) documents_.add(steps(rollout));
  }

  void write() {
    const rag::State& root = tree_.state(tree_.root());
    json_.begin_object().field("id", root.question().id).field("question", root.question().text);
    json_.key("golden_answers").array(root.has_gold() ? root.gold() : rag::Gold());
    json_.field("oracle", oracle(tree_)).field("method", record_.method);
    json_.field("status", name(tree_.ending)).field("seed", record_.seed);
    json_.key("options").raw(record_.options);
    documents_.write(json_);
    const auto own = rewards(tree_);
    json_.key("nodes").begin_array();
    for (NodeId id = 0; id < tree_.size(); ++id) write_node(id, own[id]);
    json_.end_array();
    json_.objects("rollouts", tree_.rollouts, [&](const Rollout& rollout) {
      json_.field("node", rollout.node).field("reward", rollout.value).field("answer", rollout.state.answer());
      write_steps(steps(rollout));
    });
    json_.objects("skips", tree_.skips, [&](const SearchFacts::Skip& skip) {
      json_.field("node", skip.node).key("kind");
      if (skip.kind <= Kind(rag::SegmentKind::notice)) json_.value(rag::name(rag::SegmentKind(skip.kind)));
      else json_.value(skip.kind);  // of an environment whose kinds are no segments
    });
    write_costs("costs", tree_.ledger);
    if (const auto& first = tree_.ledger.first_unread(); !first.empty())
      json_.members("first_unread", first, [&](const std::string&, const Ledger::Unread& unread) {
        json_.field("text", unread.text);
        if (unread.cut_at > 0) json_.field("cut_at", unread.cut_at);
        if (unread.in_thought) json_.field("in_thought", true);
      });
    if (!tree_.annotations.empty()) write_annotations();
    if (!tree_.remarks.empty())
      json_.objects("remarks", tree_.remarks, [&](const SearchFacts::Remark& remark) {
        json_.field("name", remark.name).field("node", remark.node).field("text", remark.text);
      });
    if (!tree_.annotation_costs.empty()) {
      json_.key("annotation_costs").begin_object();
      for (const auto& [name, costs] : tree_.annotation_costs) write_costs(name, costs);
      json_.end_object();
    }
    json_.end_object();
  }

 private:
  using Rollout = rag::Tree::RolloutRecord;

  [[nodiscard]] Segments own_segments(NodeId id) const {
    return tree_.state(id).transcript().since(tree_.state(tree_[id].parent).transcript());
  }
  [[nodiscard]] Segments steps(const Rollout& rollout) const {
    return rollout.state.transcript().since(tree_.state(rollout.node).transcript());
  }

  void write_node(NodeId id, const std::optional<double>& reward) {
    const auto& node = tree_[id];
    json_.begin_object().field("id", id);
    if (id == tree_.root()) {
      json_.key("parent").null();
    } else {
      const rag::Action& action = tree_.action(id);
      json_.field("parent", node.parent).field("kind", rag::name(action.kind)).field("text", action.text);
      json_.field("thought", action.thought).field("key", action.key);
      if (action.forced) json_.field("forced", true);
      const Segments own = own_segments(id);
      for (const rag::Segment* segment : own)
        if (segment->documents()) write_documents(*segment->documents());
        else if (segment->kind() == rag::SegmentKind::notice) json_.field("notice", segment->words());
      if (!follows_from(action, espalier::detail::closed_at_birth(node), own)) write_steps(own);
    }
    json_.field("visits", node.visits).field("value", node.mean()).field("total", node.total);
    json_.field("reward", reward).field("prior", node.prior);
    json_.field("evaluated", node.evaluated).field("status", name(node.status));
    if (node.reason != Reason::none) json_.field("reason", name(node.reason));
    json_.end_object();
  }

  /// If a node's segments are those that rag::Environment::step makes of its action.
  static bool follows_from(const rag::Action& action, bool closed, const Segments& own) {
    std::size_t i = 0;
    const auto next = [&](rag::SegmentKind kind, const std::string& words) {
      return i < own.size() && !own[i]->documents() && own[i]->kind() == kind && own[i++]->words() == words;
    };
    if (closed) return own.empty();
    if (!action.thought.empty() && !next(rag::SegmentKind::thought, action.thought)) return false;
    if (!next(action.kind, action.text)) return false;
    if (i < own.size() && own[i]->documents()) ++i;
    if (i < own.size() && own[i]->kind() == rag::SegmentKind::notice) ++i;
    return i == own.size();
  }

  /// One object per segment.
  void write_steps(const Segments& segments) {
    json_.objects("steps", segments, [&](const rag::Segment* segment) {
      if (segment->documents()) write_documents(*segment->documents());
      else json_.field(rag::name(segment->kind()), segment->words());
    });
  }

  void write_documents(const Passages& passages) {
    json_.objects("documents", passages, [&](const Passage& passage) {
      json_.field("id", documents_.key(passage)).field("score", passage.score());
    });
  }

  void write_costs(std::string_view key, const Ledger& ledger) {
    json_.members(key, ledger.by_purpose(), [&](const std::string&, const Ledger::Costs& costs) {
      json_.field("completions", costs.completions).field("prompt_tokens", costs.prompt_tokens);
      json_.field("completion_tokens", costs.completion_tokens).field("retrievals", costs.retrievals);
      for (const auto& [name, count] : espalier::detail::rare_counts)
        if (costs.*count > 0) json_.field(name, costs.*count);
    });
  }

  /// Numbers of all nodes by name, null = none.
  void write_annotations() {
    json_.key("annotations").begin_object();
    for (const auto& [name, numbers] : tree_.annotations) {
      json_.key(name).begin_array();
      for (NodeId id = 0; id < tree_.size(); ++id) json_.value(tree_.annotation(name, id));
      json_.end_array();
    }
    json_.end_object();
  }

  const TreeRecord& record_;
  const rag::Tree& tree_;
  JsonWriter json_;
  DocumentTable documents_;
};

}  // namespace detail

/// Appends the tree as one line of trees.jsonl. Reading it back gives an equal tree, with U+FFFD for bad bytes.
inline void append_tree(const TreeRecord& record, std::string& out) {
  detail::TreeWriter(record, out).write();
  out += '\n';
}

}  // namespace espalier::output
