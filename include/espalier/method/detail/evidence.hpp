#pragma once

#include <espalier/rag/environment.hpp>
#include <espalier/rag/state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// The documents of all retrievals on a path, each passage once, after those that are known already.
inline Passages evidence(const rag::State& state, Passages known = Passages()) {
  for (const rag::Segment* segment : state.transcript().segments()) {
    if (!segment->documents()) continue;
    for (const Passage& passage : *segment->documents()) {
      const auto same = [&](const Passage& other) { return other.id() == passage.id(); };
      if (std::none_of(known.begin(), known.end(), same)) known.push_back(passage);
    }
  }
  return known;
}

/// The number of steps on a path: queries, what was concluded from their documents, and the answer.
inline std::uint32_t steps_of(const rag::State& state) {
  std::uint32_t steps = 0;
  for (const rag::Segment* segment : state.transcript().segments()) {
    using enum rag::SegmentKind;
    steps += segment->kind() == query || segment->kind() == sub_answer || segment->kind() == answer;
  }
  return steps;
}

/// The deepest node that was not pruned, of equally deep ones that with the highest worth(node), then the oldest.
NodeId deepest(const auto& tree, const auto& worth) {
  std::vector<std::size_t> depth(tree.size());
  NodeId best = tree.root();
  for (NodeId id = 1; id < tree.size(); ++id) {
    depth[id] = depth[tree[id].parent] + 1;
    if (tree[id].status == Status::pruned || depth[id] < depth[best]) continue;
    if (depth[id] > depth[best] || worth(id) > worth(best)) best = id;
  }
  return best;
}

/// Adds a drawn answer below a node. Returns its node, no_node if it could not be read.
NodeId add_answer(auto& tree, NodeId from, Proposal<rag::Action> drawn) {
  const Reason closed = drawn.closed;
  rag::State state = tree.state(from);
  if (closed == Reason::none) state = state.with(drawn.action);
  tree[from].status = Status::expanded;
  const NodeId id = tree.add(from, std::move(drawn.action), std::move(state), drawn.kind, 1);
  if (closed != Reason::none) tree.prune(id, closed);
  else tree[id].status = Status::terminal;
  return closed == Reason::none ? id : no_node;
}

/// Adds a forced answer below the deepest unpruned node, of equals the highest worth(node). Returns it, or no_node.
template <class Tree, class Worth>
Task<NodeId> force_answer(const rag::Environment* loop, Tree* tree, Worth worth) {
  const NodeId from = deepest(*tree, worth);
  const Context context(tree->seed.purpose("forced answer"), 0, &tree->ledger);
  auto slots = loop->slots(tree->state(from).view());
  auto drawn = co_await loop->draw("forced_answer", std::move(slots), 1, context, rag::SegmentKind::answer, true);
  co_return add_answer(*tree, from, std::move(drawn.front()));
}

}  // namespace espalier::method::detail
