#pragma once

#include <espalier/core/seed.hpp>
#include <espalier/rag/state.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// One event of a tree.
struct TreeEvent {
  enum class What { node, simulation, pruned, done } what;
  std::size_t question = 0;  ///< index of the tree's question
  NodeId node = no_node;     ///< the new, valued or pruned node
  NodeId parent = no_node;   ///< of a new node
  std::string kind{};        ///< of a new node's action, "" at the root
  std::string text{};        ///< of a new node's action, or the reason of a pruning
  double number = 0;         ///< a new node's prior, or the value that was entered
};

/// The events of a session's trees, in order for each tree. Events are the difference between a tree and what was
/// reported of it. A simulation event is one value entered at a node and counted by all its ancestors. So replayed
/// events give the visits of the finished tree.
class EventLog {
 public:
  explicit EventLog(const std::vector<Seed>& seeds) : told_(seeds.size()) {
    for (std::size_t i = 0; i < seeds.size(); ++i) question_[seeds[i].value()] = i;
  }

  /// Records what is new in a growing tree. Ignores a tree that is only a part of a question's tree.
  void look(const rag::Tree& tree);
  /// Records that a tree is finished, null if its backends failed.
  void done(std::size_t question, const rag::Tree* tree);

  [[nodiscard]] std::vector<TreeEvent> take() { return std::exchange(events_, {}); }

 private:
  /// What was reported of one node.
  struct Told {
    std::uint32_t values = 0;  ///< values entered at this node itself
    double total = 0;          ///< its total at the last look
    bool cut = false;
  };
  void look(std::size_t question, const rag::Tree& tree);
  void tell_values(std::size_t question, const rag::Tree& tree);

  std::map<std::uint64_t, std::size_t> question_;  ///< by the seed of its tree
  std::vector<std::vector<Told>> told_;
  std::vector<TreeEvent> events_;
};

}  // namespace espalier::python
