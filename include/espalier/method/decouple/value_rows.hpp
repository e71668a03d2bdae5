#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/option_check.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/rag/metrics.hpp>
#include <espalier/rag/prompt_set.hpp>
#include <espalier/rag/render.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::method {

/// Which labelled paths train DecoupleRAG's policy and value models.
struct ValueRowOptions {
  double recall = 0.8;
  std::size_t wrong = 10;
  double policy_plan = 0.7;  ///< a path with a lower last plan value gives no policy loss
  bool skip_yes_no = false;  ///< as in the published code

  void describe(auto& table) {
    table
        .add("recall", recall, "least share of a gold answer's words in the answer of a right path",
             Range::between(0, 1))
        .add("wrong", wrong, "largest number of wrong paths per question", Range::at_least(0))
        .add("policy_plan", policy_plan, "least last plan value of a path that trains the policy",
             Range::between(-1, 1))
        .add("skip_yes_no", skip_yes_no, "yes/no questions give no rows");
  }
};

namespace detail {

/// Answer recall: the largest share of a gold answer's words that the path's answer contains.
inline double answer_recall(const rag::State& end) {
  const std::string answer = rag::detail::form_or_text(end.answer().value_or(""));
  double best = 0;
  for (const std::string& gold : end.gold())
    best = std::max(best, rag::detail::word_overlap({}, answer, rag::detail::form_or_text(gold)).recall);
  return best;
}

/// True if every gold answer is yes or no, or the question begins with a verb that asks for them.
inline bool asks_yes_or_no(const rag::State& state) {
  static constexpr std::array<std::string_view, 18> verbs{"is",   "are",   "was",    "were", "do",   "does",
                                                          "did",  "have",  "has",    "had",  "can",  "could",
                                                          "will", "would", "should", "may",  "might"};
  const std::string question = rag::normalise(state.question().text);
  const std::string_view first = std::string_view(question).substr(0, question.find(' '));
  if (std::find(verbs.begin(), verbs.end(), first) != verbs.end()) return true;
  return std::all_of(state.gold().begin(), state.gold().end(), [](const std::string& gold) {
    const std::string normal = rag::normalise(gold);
    return normal == "yes" || normal == "no";
  });
}

/// True if every step of a path has values of its own.
inline bool judged(const rag::Tree& tree, NodeId end) {
  for (; end != tree.root(); end = tree[end].parent)
    if (!tree[end].evaluated) return false;
  return true;
}

/// The ends of the chosen paths, in order of creation. They are at most one right path whose answer has the gold
/// answer's words, and wrong paths whose last queries all differ. Every step of them was judged (Eq. 6).
inline std::vector<NodeId> labelled_paths(const rag::Tree& tree, const ValueRowOptions& options) {
  std::vector<NodeId> right, wrong;
  std::set<std::string> queries;
  if (options.skip_yes_no && asks_yes_or_no(tree.state(tree.root()))) return right;
  for (const NodeId end : output::complete_chains(tree)) {
    if (!judged(tree, end)) continue;
    const bool correct = tree[end].mean() > 0;
    if (correct ? !right.empty() || answer_recall(tree.state(end)) < options.recall : wrong.size() >= options.wrong)
      continue;
    std::string last;
    for (const NodeId id : tree.path(end))
      if (tree.action(id).kind == rag::SegmentKind::query) last = tree.action(id).key;
    if (!queries.insert((correct ? "right " : "wrong ") + last).second) continue;
    (correct ? right : wrong).push_back(end);
  }
  right.insert(right.end(), wrong.begin(), wrong.end());
  return right;
}

}  // namespace detail

/// Appends the chosen paths as chat messages (docs page "decouple"). If `values` is false, only right paths are
/// written, without values, as data for the policy alone.
inline void append_value_rows(const output::TreeRecord& record, const rag::PromptSet& prompts,
                              const ValueRowOptions& options, bool values, std::string& out) {
  const rag::Tree& tree = record.tree;
  const Protocol& protocol = *prompts.protocol();
  const rag::Question& question = tree.state(tree.root()).question();
  for (const NodeId end : detail::labelled_paths(tree, options)) {
    const bool correct = tree[end].mean() > 0;
    if (!values && !correct) continue;
    JsonWriter json(out);
    json.begin_object().field("id", question.id + '#' + std::to_string(end)).key("messages").begin_array();
    const auto say = [&](const char* role, const std::string& content) -> JsonWriter& {
      return json.begin_object().field("role", role).field("content", content);
    };
    say("system", "Solve the question with a search engine, one thought and one action at a time.").end_object();
    say("user", rag::detail::neutralise(question.text)).end_object();
    double last_plan = 0;
    for (const NodeId id : tree.path(end)) {
      if (id == tree.root()) continue;
      const rag::Action& action = tree.action(id);
      const Protocol::Tag& tag = *protocol.tag(rag::detail::role(action.kind));
      const std::string thought = rag::detail::neutralise(action.thought);
      say("assistant",
          thought + (thought.empty() ? "" : "\n") + tag.open + rag::detail::neutralise(action.text) + tag.close);
      last_plan = tree.annotation("plan", id);
      if (values) json.field("q_value_thought", last_plan).field("value_at", output::detail::code_points(thought));
      json.end_object();
      const rag::Segment* last = tree.state(id).transcript().last();
      if (!last->documents()) continue;
      const std::string observation = rag::render_documents(*last->documents(), protocol).text;
      say("function", observation);
      if (values)
        json.field("q_value_search", tree[id].mean()).field("value_at", output::detail::code_points(observation));
      json.end_object();
    }
    json.end_array().key("ext").begin_object().key("golden_answer").array(tree.state(end).gold()).end_object();
    json.field("correct", correct);
    if (values) json.field("policy_loss", correct && last_plan >= options.policy_plan);
    record.begin_provenance(json).key("nodes").array(tree.path(end));
    record.end_row(json, out);
  }
}

}  // namespace espalier::method
