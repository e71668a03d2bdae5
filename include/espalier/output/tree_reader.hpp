#pragma once

#include <espalier/output/json_line.hpp>
#include <espalier/output/tree_json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::output {

/// A tree read back, with what its line said beside it.
class RecordedTree {
 public:
  rag::Tree tree;
  std::string method;
  std::uint64_t seed = 0;
  std::string options;
  [[nodiscard]] TreeRecord record() const { return {tree, method, seed, options}; }
};

namespace detail {

/// Turns one line of trees.jsonl into a tree.
class TreeReader {
 public:
  explicit TreeReader(const JsonLine& line) : line_(line) {
    for (const auto entry : line.object("documents").element().get_object()) {
      const JsonLine document("document", line.line(), entry.value);
      documents_.emplace(std::string(entry.key), Passage(std::string(entry.key), document.text("title"), document.text("text")));
    }
  }

  RecordedTree read() {
    RecordedTree recorded;
    recorded.method = line_.text("method");
    if (line_.element()["seed"].get(recorded.seed) != simdjson::SUCCESS) line_.fail("seed", "is missing or not a seed");
    recorded.options = simdjson::minify(line_.object("options").element());
    rag::Example example;
    example.question = {line_.text("id"), line_.text("question")};
    example.gold = line_.texts("golden_answers");
    rag::Tree tree(rag::State(example), Seed(recorded.seed, example.question.id));
    for (const JsonLine& node : line_.objects("nodes")) add_node(tree, node);
    for (const JsonLine& rollout : line_.objects("rollouts")) {
      const NodeId at = node_id(tree, rollout, "node");
      tree.rollouts.push_back({at, with_steps(tree.state(at), rollout), rollout.number("reward")});
    }
    for (const JsonLine& skip : line_.objects("skips")) tree.skips.push_back({node_id(tree, skip, "node"), static_cast<Kind>(kind(skip, "kind"))});
    for (const auto entry : line_.object("costs").element().get_object()) {
      const JsonLine costs("costs", line_.line(), entry.value);
      Costs& c = tree.ledger[entry.key];
      c.completions = count(costs, "completions");
      c.prompt_tokens = count(costs, "prompt_tokens");
      c.completion_tokens = count(costs, "completion_tokens");
      c.retrievals = count(costs, "retrievals");
    }
    tree.ending = one_of<Ending>(line_, "status", 2);
    recorded.tree = std::move(tree);
    return recorded;
  }

 private:
  static std::uint64_t count(const JsonLine& row, std::string_view field) {
    const double value = row.number(field);
    if (!(value >= 0 && value < 1e15)) row.fail(field, "is not a count");
    return static_cast<std::uint64_t>(value);
  }
  template <class E>
  static E one_of(const JsonLine& row, std::string_view field, int values) {
    const std::string text = row.text(field);
    for (int i = 0; i < values; ++i)
      if (text == name(static_cast<E>(i))) return static_cast<E>(i);
    row.fail(field, "has an unknown value");
  }
  static rag::SegmentKind kind(const JsonLine& row, std::string_view field) {
    const std::string text = row.text(field);
    for (int i = 0; i < 6; ++i)
      if (text == rag::name(static_cast<rag::SegmentKind>(i))) return static_cast<rag::SegmentKind>(i);
    row.fail(field, "has an unknown value");
  }
  static NodeId node_id(const rag::Tree& tree, const JsonLine& row, std::string_view field) {
    const std::uint64_t id = count(row, field);
    if (id >= tree.size()) row.fail(field, "names a node that is not there");
    return static_cast<NodeId>(id);
  }

  Passages passages(const JsonLine& row) const {
    Passages all;
    for (const JsonLine& hit : row.objects("documents")) {
      const auto it = documents_.find(hit.text("id"));
      if (it == documents_.end()) hit.fail("id", "names a document that is not there");
      all.push_back(it->second.scored(hit.number("score")));
    }
    return all;
  }
  rag::State with_steps(rag::State state, const JsonLine& rollout) const {
    for (const JsonLine& step : rollout.objects("steps")) {
      if (step.has("documents")) {
        state = state.with(rag::Segment(passages(step)));
        continue;
      }
      for (const auto entry : step.element().get_object()) {
        std::string_view text;
        if (entry.value.get(text) != simdjson::SUCCESS) step.fail(entry.key, "is not a text");
        int k = 0;
        while (k < 6 && entry.key != rag::name(static_cast<rag::SegmentKind>(k))) ++k;
        if (k == 6) step.fail(entry.key, "is not a kind of step");
        state = state.with(rag::Segment(static_cast<rag::SegmentKind>(k), rag::ModelText(std::string(text))));
      }
    }
    return state;
  }

  void add_node(rag::Tree& tree, const JsonLine& row) const {
    NodeId id = tree.root();
    if (row.has("parent")) {
      const NodeId parent = node_id(tree, row, "parent");
      const rag::SegmentKind sort = kind(row, "kind");
      rag::Action action(sort, row.text("text"), row.text("thought"), row.text("key"), row.has("forced"));
      rag::State state = tree.state(parent);
      if (row.text_or("reason", "") != name(Reason::malformed)) {
        if (!action.thought.empty()) state = state.with(rag::Segment(rag::SegmentKind::thought, rag::ModelText(action.thought)));
        state = state.with(rag::Segment(sort, rag::ModelText(action.text)));
        if (sort == rag::SegmentKind::query) state = state.with(rag::Segment(passages(row)));
      }
      id = tree.add(parent, std::move(action), std::move(state), static_cast<Kind>(sort), static_cast<float>(row.number("prior")));
    }
    auto& node = tree[id];
    node.visits = static_cast<std::uint32_t>(count(row, "visits"));
    node.total = row.number("total");
    node.prior = static_cast<float>(row.number("prior"));
    node.evaluated = bool(row.element()["evaluated"]);
    node.status = one_of<Status>(row, "status", 5);
    if (row.has("reason")) node.reason = one_of<Reason>(row, "reason", 7);
  }

  const JsonLine& line_;
  std::map<std::string, Passage> documents_;
};

}  // namespace detail

/// The trees of a trees.jsonl, in order. Throws InputError that names file, line and field.
inline std::vector<RecordedTree> read_trees(const std::string& path) {
  std::vector<RecordedTree> trees;
  for_each_line(path, [&](const JsonLine& line) {
    try {
      trees.push_back(detail::TreeReader(line).read());
    } catch (const simdjson::simdjson_error& error) {
      line.fail("", error.what());
    }
    return true;
  });
  return trees;
}

}  // namespace espalier::output
