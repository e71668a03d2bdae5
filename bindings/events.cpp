#include "events.hpp"

#include <espalier/output/tree_record.hpp>

namespace espalier::python {

void EventLog::look(std::size_t question, const rag::Tree& tree) {
  Told& told = told_[question];
  for (auto id = static_cast<NodeId>(told.cut.size()); id < tree.size(); ++id) {
    const auto& action = tree.action(id);
    const bool root = id == rag::Tree::root();
    events_.push_back({TreeEvent::What::node, question, id, tree[id].parent, root ? "" : rag::name(action.kind), action.text,
                       static_cast<double>(tree[id].prior)});
    told.cut.push_back(false);
    tell_cut(question, tree, id);
  }
}

void EventLog::tell_cut(std::size_t question, const rag::Tree& tree, NodeId id) {
  if (tree[id].status != Status::pruned || told_[question].cut[id]) return;
  told_[question].cut[id] = true;
  events_.push_back({TreeEvent::What::pruned, question, id, no_node, "", output::name(tree[id].reason), 0});
}

void EventLog::entered(const rag::Tree& tree, NodeId node, double value) {
  const auto asked = question_.find(tree.seed.value());
  if (asked == question_.end()) return;
  look(asked->second, tree);
  told_[asked->second].values = true;
  events_.push_back({TreeEvent::What::simulation, asked->second, node, no_node, "", "", value});
}

void EventLog::done(std::size_t question, const rag::Tree* tree) {
  if (tree) {
    look(question, *tree);
    for (NodeId id = 0; id < tree->size(); ++id) {
      if (!told_[question].values) {
        std::uint32_t own = (*tree)[id].visits;
        double total = (*tree)[id].total;
        for (const NodeId child : tree->children(id)) own -= (*tree)[child].visits, total -= (*tree)[child].total;
        for (std::uint32_t i = 0; i < own; ++i)
          events_.push_back({TreeEvent::What::simulation, question, id, no_node, "", "", total / own});
      }
      tell_cut(question, *tree, id);
    }
  }
  events_.push_back({TreeEvent::What::done, question});
}

}  // namespace espalier::python
