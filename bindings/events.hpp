#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/rag/environment.hpp>

#include <map>
#include <memory>
#include <optional>
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

/// What happens to the trees of a session, each tree's events in order. A simulation is one value entered at a node and
/// counted by all above it: replayed, the events give the visits of the finished tree.
class EventLog {
 public:
  explicit EventLog(std::vector<Seed> seeds) : told_(seeds.size()) {
    for (std::size_t i = 0; i < seeds.size(); ++i) question_[seeds[i].value()] = i;
  }

  /// A value was entered at a node of a tree that grows.
  void entered(const rag::Tree& tree, NodeId node, double value);
  /// A tree is finished; null if its backends failed. Tells the values too, if nobody told them while it grew.
  void done(std::size_t question, const rag::Tree* tree);

  [[nodiscard]] std::vector<TreeEvent> take() { return std::exchange(events_, {}); }

 private:
  /// What was told of one tree.
  struct Told {
    std::vector<bool> cut{};  ///< of each node that was told: as pruned
    bool values = false;
  };
  void look(std::size_t question, const rag::Tree& tree);
  void tell_cut(std::size_t question, const rag::Tree& tree, NodeId id);

  std::map<std::uint64_t, std::size_t> question_;  ///< by the seed of its tree
  std::vector<Told> told_;
  std::vector<TreeEvent> events_;
};

/// The mean, told to whoever listens.
struct ToldBackup : MeanBackup {
  std::shared_ptr<EventLog*> listener = std::make_shared<EventLog*>(nullptr);
  void operator()(rag::Tree& tree, NodeId leaf, double value) const {
    MeanBackup::operator()(tree, leaf, value);
    if (*listener) (*listener)->entered(tree, leaf, value);
  }
};

}  // namespace espalier::python
