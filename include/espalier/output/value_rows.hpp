#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/render.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace espalier::output {

/// Which labelled paths become training data of DecoupleRAG's policy and value models.
struct ValueRowOptions {
  double recall = 0.8;        ///< least share of a gold answer's words in the path's documents, for a right path, [0, 1]
  std::size_t wrong = 10;     ///< most wrong paths a question
  double policy_plan = 0.7;   ///< a path whose last plan value is below gives no policy loss, [-1, 1]
};

/// The largest share of a gold answer's words that the documents on a path hold.
inline double answer_recall(const rag::State& end) {
  std::set<std::string> shown;
  for (const rag::Segment* segment : end.transcript().segments()) {
    if (!segment->documents()) continue;
    for (const Passage& passage : *segment->documents()) {
      const std::string text = rag::normalise(passage.title() + ' ' + passage.text());
      for (const std::string_view word : rag::split(text)) shown.emplace(word);
    }
  }
  double best = 0;
  for (const std::string& gold : end.gold()) {
    const std::string text = rag::normalise(gold);
    const auto words = rag::split(text);
    const auto found = std::count_if(words.begin(), words.end(), [&](std::string_view word) { return shown.contains(std::string(word)); });
    if (!words.empty()) best = std::max(best, static_cast<double>(found) / static_cast<double>(words.size()));
  }
  return best;
}

/// The ends of the chosen paths: at most one right one, whose documents hold its answer, then wrong ones, each with another
/// last query than those before it. In order of creation.
inline std::vector<NodeId> labelled_paths(const rag::Tree& tree, const ValueRowOptions& options) {
  std::vector<NodeId> right, wrong;
  std::set<std::string> queries;
  for (const NodeId end : complete_chains(tree)) {
    if (!tree[end].evaluated) continue;
    const bool correct = tree[end].mean() > 0;
    if (correct ? !right.empty() || answer_recall(tree.state(end)) < options.recall : wrong.size() >= options.wrong) continue;
    std::string last;
    for (const NodeId id : tree.path(end))
      if (tree.action(id).kind == rag::SegmentKind::query) last = tree.action(id).key;
    if (!queries.insert((correct ? "right " : "wrong ") + last).second) continue;
    (correct ? right : wrong).push_back(end);
  }
  right.insert(right.end(), wrong.begin(), wrong.end());
  return right;
}

/// Appends the chosen paths as chat messages: the policy's turns with the plan value after the thought, the documents with the
/// search value at their end. `value_at` counts code points of `content`. With `values` false only right paths are written,
/// without values: data of the policy alone.
inline void append_value_rows(const TreeRecord& record, const rag::PromptSet& prompts, const ValueRowOptions& options, bool values, std::string& out) {
  const rag::Tree& tree = record.tree;
  const Protocol& protocol = *prompts.protocol();
  const rag::Question& question = tree.state(tree.root()).question();
  for (const NodeId end : labelled_paths(tree, options)) {
    const bool correct = tree[end].mean() > 0;
    if (!values && !correct) continue;
    JsonWriter json(out);
    json.begin_object().field("id", question.id + '#' + std::to_string(end)).key("messages").begin_array();
    const auto say = [&](const char* role, const std::string& content) -> JsonWriter& {
      return json.begin_object().field("role", role).field("content", content);
    };
    say("system", "Solve the question with a search engine, one thought and one action at a time.").end_object();
    say("user", rag::neutralise(question.text)).end_object();
    double last_plan = 0;
    for (const NodeId id : tree.path(end)) {
      if (id == tree.root()) continue;
      const rag::Action& action = tree.action(id);
      const Tag& tag = *protocol.tag(rag::role(action.kind));
      const std::string thought = rag::neutralise(action.thought);
      say("assistant", thought + (thought.empty() ? "" : "\n") + tag.open + rag::neutralise(action.text) + tag.close);
      last_plan = tree.annotation("plan", id);
      if (values) json.field("q_value_thought", last_plan).field("value_at", code_points(thought));
      json.end_object();
      const rag::Segment* last = tree.state(id).transcript().last();
      if (!last->documents()) continue;
      const std::string observation = rag::render_documents(*last->documents(), protocol).text;
      say("function", observation);
      if (values) json.field("q_value_search", tree[id].mean()).field("value_at", code_points(observation));
      json.end_object();
    }
    json.end_array().key("ext").begin_object().key("golden_answer").begin_array();
    for (const std::string& alias : tree.state(end).gold()) json.value(alias);
    json.end_array().end_object().field("correct", correct);
    if (values) json.field("policy_loss", correct && last_plan >= options.policy_plan);
    json.key("provenance").begin_object().field("tree", question.id).key("nodes").begin_array();
    for (const NodeId id : tree.path(end)) json.value(id);
    json.end_array().field("method", record.method).field("seed", record.seed).key("options").raw(record.options).end_object().end_object();
    out += '\n';
  }
}

}  // namespace espalier::output
