#include "events.hpp"

#include <espalier/output/tree_record.hpp>
#include <espalier/rag/transcript.hpp>

namespace espalier::python {

void EventLog::look(const rag::Tree& tree) {
  const auto asked = question_.find(tree.seed.value());
  if (asked != question_.end()) look(asked->second, tree);
}

void EventLog::look(std::size_t question, const rag::Tree& tree) {
  auto& told = told_[question];
  for (auto id = static_cast<NodeId>(told.size()); id < tree.size(); ++id) {
    const auto& action = tree.action(id);
    const bool root = id == rag::Tree::root();
    events_.push_back({TreeEvent::What::node, question, id, tree[id].parent, root ? "" : rag::name(action.kind),
                       action.text, static_cast<double>(tree[id].prior)});
    told.emplace_back();
  }
  tell_values(question, tree);
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree[id].status != Status::pruned || std::exchange(told[id].cut, true)) continue;
    events_.push_back({TreeEvent::What::pruned, question, id, no_node, "", output::detail::name(tree[id].reason), 0});
  }
}

/// Records a node's own values: those that its children do not have. Engines that sum up only at the end give it fewer
/// until then, so nothing is reported twice.
void EventLog::tell_values(std::size_t question, const rag::Tree& tree) {
  auto& told = told_[question];
  std::vector<std::uint32_t> below(tree.size());
  std::vector<double> fresh(tree.size());  // part of the sum that did not pass through children
  for (auto id = static_cast<NodeId>(tree.size()); id-- > 0;) {
    const double more = tree[id].total - std::exchange(told[id].total, tree[id].total);
    fresh[id] += more;
    if (id == rag::Tree::root()) break;
    below[tree[id].parent] += tree[id].visits;
    fresh[tree[id].parent] -= more;
  }
  for (NodeId id = 0; id < tree.size(); ++id) {
    const std::uint32_t known = below[id] + told[id].values;
    if (tree[id].visits <= known) continue;
    const std::uint32_t entered = tree[id].visits - known;
    for (std::uint32_t i = 0; i < entered; ++i)
      events_.push_back({TreeEvent::What::simulation, question, id, no_node, "", "", fresh[id] / entered});
    told[id].values += entered;
  }
}

void EventLog::done(std::size_t question, const rag::Tree* tree) {
  if (tree) look(question, *tree);
  events_.push_back({TreeEvent::What::done, question});
}

}  // namespace espalier::python
