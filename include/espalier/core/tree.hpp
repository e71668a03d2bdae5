#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/seed.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = std::numeric_limits<NodeId>::max();

/// A sort of action. The environment gives the number its meaning.
using Kind = std::uint8_t;

/// What became of a node.
enum class Status : std::uint8_t {
  open,      ///< may grow children
  growing,   ///< its children are being fetched
  expanded,  ///< has all its children
  terminal,  ///< gets no children
  pruned
};

/// Why a branch was cut.
enum class Reason : std::uint8_t {
  none,
  outvoted,         ///< the majority decided otherwise
  below_threshold,  ///< the values of its kind did not pass the threshold
  not_best,         ///< a sibling has a higher value
  skipped,          ///< enough was known without it (kinds that were never grown are in Tree::skips)
  malformed,        ///< the model's text could not be read, even after resampling
  budget,           ///< a budget ran out
  refused           ///< an answer from memory that says "I don't know"
};

/// The number by which policies compare values. Other value types provide an overload.
constexpr double utility(double value) { return value; }

/// The numbers of one node, 40 bytes if Value is double.
template <class Value>
struct Node {
  Value total{};             ///< sum of the values backed up through this node
  std::uint32_t visits = 0;  ///< own evaluations + visits of the children
  NodeId parent = no_node;
  NodeId first_child = no_node;
  NodeId last_child = no_node;
  NodeId next_sibling = no_node;
  float prior = 1;            ///< [0, 1], share of the parent's policy, including merged duplicates
  std::uint16_t pending = 0;  ///< simulations under way through this node
  std::uint16_t drawn = 0;    ///< samples drawn for its children, duplicates included
  Kind kind = 0;              ///< the kind of the action that led here
  Status status = Status::open;
  Reason reason = Reason::none;
  bool evaluated : 1 = false;  ///< has a value of its own
  bool solved : 1 = false;     ///< nothing new can come from this subtree (set by searches with `solve`)

  /// Mean value. Value{} if never visited.
  [[nodiscard]] Value mean() const { return visits ? Value(total * (1.0 / visits)) : Value{}; }
};

namespace detail {

[[noreturn]] inline void no_such_node(NodeId id, std::uint64_t nodes) {
  throw TreeError("there is no node " + std::to_string(id) + " in a tree of " + std::to_string(nodes));
}

/// This prior, if it is one.
constexpr float known_prior(float prior) {
  if (prior >= 0 && prior <= std::numeric_limits<float>::max()) return prior;
  throw TreeError("a prior is " + std::to_string(prior) + ", not 0 or more");
}

/// Copies what a search found out about a node, except its value and its place in the tree.
template <class A, class B>
void take_findings(Node<A>& to, const Node<B>& from) {
  to.visits = from.visits;
  to.drawn = from.drawn;
  to.status = from.status;
  to.reason = from.reason;
  to.evaluated = from.evaluated;
  to.solved = from.solved;
}

/// True if the node was closed as it was proposed: unreadable, or a refusal. It has its parent's state.
template <class Value>
constexpr bool closed_at_birth(const Node<Value>& node) {
  return (node.reason == Reason::malformed || node.reason == Reason::refused) && !node.evaluated;
}

}  // namespace detail

/// Results of a whole search that do not depend on the type of its states.
struct SearchFacts {
  /// How a search ended.
  enum class Ending : std::uint8_t { done, budget };

  /// A kind at a node that was never grown because enough was known.
  struct Skip {
    NodeId node = no_node;
    Kind kind = 0;
  };

  /// A named text about a node, such as a judge's reason.
  struct Remark {
    std::string name;
    NodeId node = no_node;
    std::string text;
  };

  Ledger ledger;  ///< logical costs of the whole search, and of what was said about it later
  std::map<std::string, Ledger> annotation_costs{};  ///< of these: those of each annotation of the finished tree
  Ending ending = Ending::done;
  std::uint64_t steps = 0;     ///< simulations or steps made, with which a search is replayed
  std::string prior_source{};  ///< where priors come from, empty = the environment's own shares
  std::uint64_t choices = 0;   ///< selections among siblings with values (counted in tasks only)
  std::uint64_t explored = 0;  ///< selections that did not follow the highest mean
  double lowest = std::numeric_limits<double>::infinity();    ///< smallest utility of an evaluation
  double highest = -std::numeric_limits<double>::infinity();  ///< largest utility of an evaluation
  std::string outside{};  ///< a warning: the first value outside the declared range, empty = none
};

/// Nodes in one array, addressed by 32-bit ids. Parents come before their children, and siblings are in order of
/// creation. States and actions are stored beside the numbers. A node copies no history. The root has a default action.
/// An id that is no node's is a TreeError, except in operator[], which does not look.
template <class State_, class Action_, class Value_ = double>
class Tree : public SearchFacts {
 public:
  using State = State_;
  using Action = Action_;
  using Value = Value_;

  /// The terminal state of one rollout from a node, and its value.
  struct RolloutRecord {
    NodeId node = no_node;
    State state;
    Value value{};
  };

  Tree() = default;
  Tree(State root, Seed seed) : seed(seed) { append(no_node, Action(), std::move(root), 0, 1); }

  void reserve(std::size_t nodes) {
    nodes_.reserve(nodes);
    states_.reserve(nodes);
    actions_.reserve(nodes);
  }
  NodeId add(NodeId parent, Action action, State state, Kind kind, float prior) {
    const NodeId id = append(known(parent), std::move(action), std::move(state), kind, detail::known_prior(prior));
    auto& above = nodes_[parent];
    if (above.first_child == no_node) above.first_child = id;
    else nodes_[above.last_child].next_sibling = id;
    above.last_child = id;
    return id;
  }

  [[nodiscard]] static constexpr NodeId root() { return 0; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Node<Value>& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] Node<Value>& operator[](NodeId id) { return nodes_[id]; }
  /// Says that a node's numbers may be read soon. Any id will do.
  void expect(NodeId id) const { __builtin_prefetch(nodes_.data() + id); }
  [[nodiscard]] const State& state(NodeId id) const { return states_[known(id)]; }
  [[nodiscard]] State& state(NodeId id) { return states_[known(id)]; }
  [[nodiscard]] const Action& action(NodeId id) const { return actions_[known(id)]; }

  /// Children of a node in order of creation.
  [[nodiscard]] std::vector<NodeId> children(NodeId id) const {
    std::vector<NodeId> ids;
    for (NodeId child = nodes_[known(id)].first_child; child != no_node; child = nodes_[child].next_sibling)
      ids.push_back(child);
    return ids;
  }
  /// Ids from the root to this node, both included.
  [[nodiscard]] std::vector<NodeId> path(NodeId id) const {
    std::vector<NodeId> ids;
    for (id = known(id); id != no_node; id = nodes_[id].parent) ids.push_back(id);
    return {ids.rbegin(), ids.rend()};
  }
  void prune(NodeId id, Reason reason) {
    if (known(id) == root()) throw TreeError("the root of a tree cannot be pruned");
    nodes_[id].status = Status::pruned;
    nodes_[id].reason = reason;
  }

  Seed seed{};
  std::vector<RolloutRecord> rollouts;  ///< in order of evaluation of their nodes
  std::vector<Skip> skips;
  std::map<std::string, std::vector<double>> annotations;  ///< named numbers of nodes besides their values, NaN = none
  std::vector<Remark> remarks;

  /// Annotates one node. All other nodes of a new annotation get NaN.
  void annotate(const std::string& name, NodeId id, double number) {
    id = known(id);
    auto& numbers = annotations[name];
    numbers.resize(size(), std::numeric_limits<double>::quiet_NaN());
    numbers[id] = number;
  }
  /// The node's number with this name, NaN if it has none.
  [[nodiscard]] double annotation(const std::string& name, NodeId id) const {
    const auto it = annotations.find(name);
    const bool noted = known(id) < (it == annotations.end() ? 0 : it->second.size());
    return noted ? it->second[id] : std::numeric_limits<double>::quiet_NaN();
  }
  /// The seed of each node, by its path: a child's place among its siblings. Searches draw under these.
  [[nodiscard]] std::vector<Seed> seeds() const {
    std::vector<Seed> all(size(), seed);
    std::vector<std::uint64_t> children(size());
    for (NodeId id = 1; id < size(); ++id) {
      const NodeId parent = (*this)[id].parent;
      all[id] = all[parent].child(children[parent]++);
    }
    return all;
  }

 private:
  /// This id, if it is a node's.
  [[nodiscard]] NodeId known(NodeId id) const {
    if (id >= nodes_.size()) detail::no_such_node(id, nodes_.size());
    return id;
  }
  NodeId append(NodeId parent, Action action, State state, Kind kind, float prior) {
    if (nodes_.size() >= no_node) throw Error("a tree holds at most 2^32 - 1 nodes");
    Node<Value> node;
    node.parent = parent;
    node.kind = kind;
    node.prior = prior;
    nodes_.push_back(node);
    states_.push_back(std::move(state));
    actions_.push_back(std::move(action));
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  std::vector<Node<Value>> nodes_;
  std::vector<State> states_;
  std::vector<Action> actions_;
};

}  // namespace espalier
