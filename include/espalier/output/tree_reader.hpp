#pragma once

#include <espalier/output/file_bytes.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/output/json_line.hpp>
#include <espalier/output/tree_json.hpp>

#include <cstdint>
#include <istream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::output {

/// A tree that was read from a file, with the other fields of its line.
struct RecordedTree {
  rag::Tree tree;
  std::string method;
  std::uint64_t seed = 0;
  std::string options;
  [[nodiscard]] TreeRecord record() const { return {tree, method, seed, options}; }
};

namespace detail {

class TreeReader {
 public:
  explicit TreeReader(const JsonLine& line) : line_(line) {
    for (const auto& [key, document] : line.members("documents"))
      documents_.emplace(key, Passage(document.text_or("id", key), document.text("title"), document.text("text")));
  }

  RecordedTree read() const {
    RecordedTree recorded;
    recorded.method = line_.text("method");
    recorded.seed = line_.count("seed");
    JsonWriter options(recorded.options);
    append_json(options, line_.object("options").element());
    rag::Example example;
    example.question = {line_.text("id"), line_.text("question")};
    example.gold = line_.texts("golden_answers");

    rag::Tree& tree = recorded.tree = rag::Tree(rag::State(example), Seed(recorded.seed, example.question.id));
    // Lines of earlier versions lack "oracle". Their golden answers say the same.
    if (line_.has("oracle") && line_.as<bool>("oracle", "true or false") != oracle(tree))
      line_.fail("oracle", "contradicts golden_answers");
    const std::vector<JsonLine> nodes = line_.objects("nodes");
    if (nodes.empty()) line_.fail("nodes", "is empty");
    for (std::size_t id = 0; id < nodes.size(); ++id) {
      if (nodes[id].count("id") != id) nodes[id].fail("id", "is not the node's place in the list");
      if (nodes[id].has("parent") != (id > 0)) nodes[id].fail("parent", "is missing, or the root has one");
      if (id > 0) add_node(tree, nodes[id]);
      fill_node(tree[static_cast<NodeId>(id)], nodes[id]);
    }
    for (const JsonLine& rollout : line_.objects("rollouts")) {
      const NodeId at = node_id(tree, rollout, "node");
      tree.rollouts.push_back({at, with_steps(tree.state(at), rollout), value(rollout, "reward")});
    }
    for (const JsonLine& skip : line_.objects("skips")) {
      const bool number = skip.element()["kind"].is_uint64();
      tree.skips.push_back({node_id(tree, skip, "node"), number ? small<Kind>(skip, "kind") : Kind(kind(skip))});
    }
    tree.ledger = ledger(line_, "costs");
    if (line_.has("first_unread"))
      for (const auto& [purpose, unread] : line_.members("first_unread")) {
        Ledger::Unread one(unread.text("text"), unread.count_or("cut_at", 0), Seed(), 0);
        one.in_thought = unread.has("in_thought") && unread.as<bool>("in_thought", "true or false");
        tree.ledger.remember(purpose, std::move(one));
      }
    if (line_.has("annotation_costs")) read_annotation_costs(tree, line_.object("annotation_costs"));
    if (line_.has("annotations")) read_annotations(tree, line_.object("annotations"));
    for (const JsonLine& remark : line_.objects("remarks"))
      tree.remarks.push_back({remark.text("name"), node_id(tree, remark, "node"), remark.text("text")});
    tree.ending = one_of<SearchFacts::Ending>(line_, "status", SearchFacts::Ending::budget);
    return recorded;
  }

 private:
  template <class E>
  static E one_of(const JsonLine& row, std::string_view field, E last) {
    const std::string text = row.text(field);
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (text == name(static_cast<E>(i))) return static_cast<E>(i);
    row.fail(field, "has an unknown value");
  }
  static rag::SegmentKind kind(const JsonLine& row) {
    const auto kind = one_of(row, "kind", rag::SegmentKind::queries);
    if (kind == rag::SegmentKind::documents) row.fail("kind", "is no words of a model");
    return kind;
  }
  template <class T>
  static T small(const JsonLine& row, std::string_view field) {
    const std::uint64_t n = row.count(field);
    if (n > std::numeric_limits<T>::max()) row.fail(field, "is too large");
    return static_cast<T>(n);
  }
  /// JSON has no NaN, so null stands for it.
  static double value(const JsonLine& row, std::string_view field) {
    return row.has(field) ? row.number(field) : std::numeric_limits<double>::quiet_NaN();
  }
  static NodeId node_id(const rag::Tree& tree, const JsonLine& row, std::string_view field) {
    const std::uint64_t id = row.count(field);
    if (id >= tree.size()) row.fail(field, "names a node that is not there");
    return static_cast<NodeId>(id);
  }

  Passages passages(const JsonLine& row) const {
    Passages all;
    for (const JsonLine& hit : row.objects("documents")) {
      const auto it = documents_.find(hit.text("id"));
      if (it == documents_.end()) hit.fail("id", "names a document that is not there");
      all.push_back(it->second.scored(value(hit, "score")));
    }
    return all;
  }
  /// What a model wrote, under the name of its kind.
  static rag::Segment words(const JsonLine& step) {
    for (const auto kind :
         {rag::SegmentKind::thought, rag::SegmentKind::sub_question, rag::SegmentKind::own_answer,
          rag::SegmentKind::query, rag::SegmentKind::answer, rag::SegmentKind::sub_answer, rag::SegmentKind::queries})
      if (step.has(rag::name(kind))) return {kind, rag::ModelText(step.text(rag::name(kind)))};
    step.fail("", "has no kind of step");
  }
  rag::State with_steps(rag::State state, const JsonLine& rollout) const {
    for (const JsonLine& step : rollout.objects("steps")) {
      if (step.has("documents")) state = state.with(rag::Segment(passages(step)));
      else if (step.has("notice")) state = state.with(rag::Segment(rag::Segment::Notice{step.text("notice")}));
      else state = state.with(words(step));
    }
    return state;
  }

  void add_node(rag::Tree& tree, const JsonLine& row) const {
    const NodeId parent = node_id(tree, row, "parent");
    rag::Action action(kind(row), row.text("text"), row.text("thought"), row.text("key"),
                       row.has("forced") && row.as<bool>("forced", "true or false"));
    rag::State state = tree.state(parent);
    Node<double> node;
    fill_node(node, row);
    if (row.has("steps")) {
      state = with_steps(std::move(state), row);
    } else if (!espalier::detail::closed_at_birth(node)) {  // as rag::Environment::step does it
      state = state.with(action);
      if (row.has("documents")) state = state.with(rag::Segment(passages(row)));
      if (row.has("notice")) state = state.with(rag::Segment(rag::Segment::Notice{row.text("notice")}));
    }
    const auto sort = static_cast<Kind>(action.kind);
    tree.add(parent, std::move(action), std::move(state), sort, node.prior);
  }
  static Ledger ledger(const JsonLine& row, std::string_view field) {
    Ledger read;
    for (const auto& [purpose, costs] : row.members(field)) {
      Ledger::Costs& one = read[purpose] = {costs.count("completions"), costs.count("prompt_tokens"),
                                            costs.count("completion_tokens"), costs.count("retrievals")};
      for (const auto& [name, count] : espalier::detail::rare_counts) {
        one.*count = costs.count_or(name, 0);
        const bool tokens = count == &Ledger::Costs::thinking_tokens;
        if (one.*count > (tokens ? one.completion_tokens : one.completions))
          costs.fail(name, tokens ? "is more than completion_tokens" : "is more than completions");
      }
    }
    return read;
  }
  static void read_annotation_costs(rag::Tree& tree, const JsonLine& all) {
    Ledger left = tree.ledger;
    for (const auto member : all.as_object()) {
      const std::string name(member.key);
      const Ledger& costs = tree.annotation_costs[name] = ledger(all, name);
      if (!left.holds(costs)) all.fail(name, "is more than the tree cost");
      left -= costs;
    }
  }
  static void read_annotations(rag::Tree& tree, const JsonLine& all) {
    for (const auto member : all.as_object()) {
      const std::string name(member.key);
      const auto numbers = all.items(name);
      if (numbers.size() != tree.size()) all.fail(name, "does not hold one number per node");
      for (NodeId id = 0; id < tree.size(); ++id) {
        double number = std::numeric_limits<double>::quiet_NaN();
        if (!numbers[id].is_null() && numbers[id].get(number) != simdjson::SUCCESS)
          all.fail(name, "holds something that is not a number");
        tree.annotate(name, id, number);
      }
    }
  }
  static void fill_node(Node<double>& node, const JsonLine& row) {
    node.visits = small<std::uint32_t>(row, "visits");
    node.total = value(row, "total");
    node.prior = static_cast<float>(row.number("prior"));
    node.evaluated = row.as<bool>("evaluated", "true or false");
    node.status = one_of<Status>(row, "status", Status::pruned);
    node.reason = row.has("reason") ? one_of<Reason>(row, "reason", Reason::refused) : Reason::none;
  }

  const JsonLine& line_;
  std::map<std::string, Passage> documents_;
};

}  // namespace detail

/// Reads the trees of a stream of lines, in order. Throws InputError that names `path`, line and field.
inline std::vector<RecordedTree> read_trees(std::istream& file, const std::string& path) {
  std::vector<RecordedTree> trees;
  detail::for_each_line(file, path, [&](const detail::JsonLine& line) {
    trees.push_back(detail::TreeReader(line).read());
    return true;
  });
  return trees;
}

/// The same of a trees.jsonl.
inline std::vector<RecordedTree> read_trees(const std::string& path) {
  detail::FileStream file(path);
  return read_trees(file, path);
}

}  // namespace espalier::output
