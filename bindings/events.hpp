#pragma once

#include <espalier/core/seed.hpp>
#include <espalier/rag/state.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// One thing that happened to a tree.
struct TreeEvent {
  enum class What { node, simulation, pruned, done } what;
  std::size_t question = 0;  ///< whose tree it is
  NodeId node = no_node;     ///< new, valued or cut
  NodeId parent = no_node;   ///< of a new node
  std::string kind{};        ///< of a new node
  std::string text{};        ///< of a new node; why one was cut
  double number = 0;         ///< a new node's prior; the value that was entered
};

/// What happens to the trees of a session, each tree's events in order: what a tree is, less what was told of it. A
/// simulation is one value entered at a node and counted by all above it: replayed, the events give the visits of the
/// finished tree.
class EventLog {
 public:
  explicit EventLog(const std::vector<Seed>& seeds) : told_(seeds.size()) {
    for (std::size_t i = 0; i < seeds.size(); ++i) question_[seeds[i].value()] = i;
  }

  /// Tells what is new in a tree that grows; nothing of a tree that is only a part of a question's.
  void look(const rag::Tree& tree);
  /// A tree is finished; null if its backends failed.
  void done(std::size_t question, const rag::Tree* tree);

  [[nodiscard]] std::vector<TreeEvent> take() { return std::exchange(events_, {}); }

 private:
  /// What was told of one node.
  struct Told {
    std::uint32_t values = 0;  ///< entered at this node itself
    double total = 0;          ///< its sum when it was looked at
    bool cut = false;
  };
  void look(std::size_t question, const rag::Tree& tree);
  void tell_values(std::size_t question, const rag::Tree& tree);

  std::map<std::uint64_t, std::size_t> question_;  ///< by the seed of its tree
  std::vector<std::vector<Told>> told_;
  std::vector<TreeEvent> events_;
};

}  // namespace espalier::python
