#pragma once

#include <espalier/core/tree.hpp>
#include <espalier/llm/scheduler.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace espalier::testing {

inline std::string exact(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", number);
  return text;
}

/// Everything a tree holds as lines of text, numbers exactly; `show(state)` and `show(action)` write the user's types.
std::string tree_text(const auto& tree, auto show) {
  std::string text;
  const auto number = [&](auto n) { (text += ' ') += std::to_string(n); };
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto& n = tree[id];
    text += "node";
    for (const NodeId other : {id, n.parent, n.first_child, n.last_child, n.next_sibling})
      number(static_cast<std::int32_t>(other));
    for (const auto small : {unsigned(n.kind), unsigned(n.status), unsigned(n.reason), unsigned(n.evaluated),
                             unsigned(n.drawn), unsigned(n.pending)})
      number(small);
    number(n.visits);
    text += " " + exact(n.total) + " " + exact(static_cast<double>(n.prior)) + " " + show(tree.action(id)) + " " +
            show(tree.state(id)) + "\n";
  }
  for (const auto& r : tree.rollouts)
    text += "rollout " + std::to_string(r.node) + " " + show(r.state) + " " + exact(r.value) + "\n";
  for (const auto& s : tree.skips) text += "skip " + std::to_string(s.node) + " " + std::to_string(s.kind) + "\n";
  for (const auto& [purpose, c] : tree.ledger.by_purpose())
    text += purpose + " " + std::to_string(c.completions) + " " + std::to_string(c.retrievals) + "\n";
  text +=
      "ending " + std::to_string(static_cast<int>(tree.ending)) + " seed " + std::to_string(tree.seed.value()) + "\n";
  return text;
}

/// Runs a task that waits for no backend.
template <class T>
T complete(Task<T> task) {
  Scheduler scheduler;
  return scheduler.run(std::move(task));
}

/// What holds for every tree: links fit, nothing is under way, visits = own evaluations + visits of the children, where
/// a node that is not terminal has one evaluation, or `several`.
std::string broken_rule(const auto& tree, bool several = false) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto& node = tree[id];
    const std::string where = " at node " + std::to_string(id);
    if (node.pending) return "pending" + where;
    if (node.status == Status::growing) return "still growing" + where;
    std::uint32_t below = 0;
    for (NodeId child : tree.children(id)) {
      if (child <= id || tree[child].parent != id) return "links" + where;
      below += tree[child].visits;
    }
    const bool closed = node.status == Status::pruned && node.reason == Reason::malformed;
    if (node.visits < below) return "visits" + where;
    const std::uint32_t own = node.visits - below;
    if (below && (several ? own > 0 && !node.evaluated : own != (node.evaluated && !closed)))
      return "own evaluations" + where;
    if (!below && node.visits && !node.evaluated) return "visits without a value" + where;
    if (closed && !several && node.visits != below) return "a malformed node has a value" + where;
  }
  return "";
}

}  // namespace espalier::testing
