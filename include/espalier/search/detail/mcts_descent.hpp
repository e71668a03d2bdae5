#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/search/mcts_options.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace espalier::detail {

/// A node that a search has reached, with its seed and depth.
struct Place {
  NodeId node = 0;
  Seed seed{};
  std::uint32_t depth = 0;
};

/// A child and its place among the siblings.
struct Sibling {
  NodeId node = no_node;
  std::uint64_t ordinal = 0;
};

inline Place below(const Place& place, const Sibling& child) {
  return {child.node, place.seed.child(child.ordinal), place.depth + 1};
}

/// The child with the highest score, the oldest of equals. no_node if all are pruned or solved. The children of each
/// child are fetched meanwhile, for the descent. (Calls would cost a search over numbers a third of its time.)
[[gnu::always_inline]] inline Sibling best_by(const auto& tree, NodeId parent, auto score) {
  Sibling best;
  double best_score = 0;
  std::uint64_t ordinal = 0;
  for (NodeId child = tree[parent].first_child; child != no_node; child = tree[child].next_sibling, ++ordinal) {
    const auto& node = tree[child];
    tree.expect(node.first_child);
    tree.expect(node.last_child);
    if (node.status == Status::pruned || node.solved) continue;
    const double s = score(child);
    if (best.node != no_node && !(s > best_score)) continue;
    best = {child, ordinal};
    best_score = s;
  }
  return best;
}
/// The child that a policy selects.
[[gnu::always_inline]] inline Sibling best_child(const auto& select, const auto& tree, NodeId parent) {
  constexpr bool sees_siblings = requires { select.at(tree, parent); };
  if constexpr (requires { select.at(tree[parent]); }) {
    bool alone = !sees_siblings;
    if constexpr (requires { select.alone(tree[parent]); }) alone = select.alone(tree[parent]);
    if (alone)
      return best_by(tree, parent, [&tree, score = select.at(tree[parent])](NodeId id) { return score(tree[id]); });
  }
  if constexpr (sees_siblings) return best_by(tree, parent, select.at(tree, parent));
  else return best_by(tree, parent, [&](NodeId child) { return select(tree[parent], tree[child]); });
}

template <class Env>
concept TwoPlayers = requires(Env& env, const typename Env::State& s) {
  { env.player(s) } -> std::convertible_to<int>;
};
/// Turns a value for player 0 into that for the player who moved to a node, and back. The root's is for player 0.
template <class Env, class Tree>
typename Tree::Value seen(Env& env, const Tree& tree, NodeId node, const typename Tree::Value& value) {
  if constexpr (TwoPlayers<Env>)
    if (node != tree.root() && env.player(tree.state(tree[node].parent)) != 0) return value * -1.0;
  return value;
}
/// Asks a policy about a node's children. Meanwhile the node's total is that for the player to move, as theirs are.
template <class Env, class Tree, class Ask>
auto as_mover(Env& env, Tree& tree, NodeId parent, Ask ask) {
  if constexpr (TwoPlayers<Env>) {
    struct Restore {
      Tree& tree;
      NodeId node;
      typename Tree::Value total;
      ~Restore() { tree[node].total = total; }
    };
    const Restore restore{tree, parent, tree[parent].total};
    const auto first = seen(env, tree, parent, restore.total);
    tree[parent].total = env.player(tree.state(parent)) == 0 ? first : first * -1.0;
    return ask();
  } else return ask();
}
/// The child that a policy selects for the player to move. `serial`: no simulations are under way.
template <bool serial>
[[gnu::always_inline]] inline Sibling best_for_mover(const auto& select, auto& env, auto& tree, NodeId parent) {
  if constexpr (!TwoPlayers<std::remove_reference_t<decltype(env)>>) return best_child(select, tree, parent);
  else {
    if constexpr (serial && requires { select.reads_mean(); })
      if (!select.reads_mean()) return best_child(select, tree, parent);
    return as_mover(env, tree, parent, [&] { return best_child(select, tree, parent); });
  }
}

/// Counts a choice among two or more children that all have values, and whether it followed the highest mean.
void note_choice(auto& tree, NodeId parent, NodeId chosen) {
  const auto mean = [&](NodeId id) { return utility(tree[id].total) / tree[id].visits; };
  std::size_t valued = 0;
  bool explored = false;
  for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling) {
    if (tree[id].status == Status::pruned || tree[id].solved) continue;
    if (tree[id].visits == 0) return;
    ++valued;
    explored = explored || mean(id) > mean(chosen);
  }
  tree.choices += valued > 1;
  tree.explored += explored;
}

/// True if a node that may grow must grow before a simulation passes it.
template <class Value>
bool grows_first(const MctsOptions& options, const Node<Value>& node) {
  if (options.widen_k == 0) return true;
  const double visits = node.visits + node.pending;
  return node.drawn < std::max(1.0, std::floor(options.widen_k * std::pow(visits, options.widen_alpha)));
}

/// Marks a node that cannot grow as terminal.
void settle_kind(const MctsOptions& options, auto& env, auto& tree, const Place& place) {
  auto& node = tree[place.node];
  if (node.status != Status::open || node.drawn > 0) return;
  if (place.depth >= options.max_depth || std::ranges::empty(env.kinds(tree.state(place.node))))
    node.status = Status::terminal;
}

/// True if a node must get its own value before anything below it, and no simulation is fetching that.
bool value_first(const MctsOptions& options, const auto& tree, const Place& place) {
  using Values = MctsOptions::Values;
  const auto& node = tree[place.node];
  const bool own = options.values == Values::leaf || (options.values == Values::each && node.parent != no_node);
  return own && !node.evaluated && node.pending == 0 && node.status != Status::growing;
}

/// Follows the policy to a node that may grow, must be valued or has no child to select, and marks terminal nodes on
/// the way. `noted`: simulations may be under way, and choices are counted.
template <bool noted, class Select, class Env, class Tree>
Place descend(const MctsOptions& options, const Select& select, Env& env, Tree& tree, Place place) {
  const bool own_values = options.values == MctsOptions::Values::each || options.values == MctsOptions::Values::leaf;
  for (;;) {
    const auto& node = tree[place.node];
    if (node.status != Status::expanded || own_values) {
      settle_kind(options, env, tree, place);
      if (node.status == Status::growing || node.first_child == no_node) return place;
      if (value_first(options, tree, place)) return place;
      if (node.status == Status::open && grows_first(options, node)) return place;
    }
    const Sibling child = best_for_mover<!noted>(select, env, tree, place.node);
    if (child.node == no_node) return place;
    if constexpr (noted) note_choice(tree, place.node, child.node);
    place = below(place, child);
  }
}

/// What is known of the children of a node that are not pruned.
struct Living {
  bool any = false, solved = true;  ///< there are some, and none of them is not solved

  Living(const auto& tree, NodeId parent) {
    for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling) {
      if (tree[id].status == Status::pruned) continue;
      any = true;
      solved = solved && tree[id].solved;
    }
  }
};

/// Cuts a node that gets no more children and whose valued ones are all cut, and its ancestors likewise. False if that
/// is the root. (A node none of whose children could be read is an end, and is valued itself.)
bool cut_ended(auto& tree, NodeId id) {
  for (; tree[id].status == Status::expanded; id = tree[id].parent) {
    Reason why = Reason::none;
    for (NodeId child = tree[id].first_child; child != no_node; child = tree[child].next_sibling) {
      if (tree[child].status != Status::pruned) return true;
      if (tree[child].visits > 0) why = tree[child].reason;
    }
    if (why == Reason::none || id == tree.root()) return why == Reason::none;
    tree.prune(id, why);
  }
  return true;
}

/// Marks solved nodes upwards: those that get no more children, with solved ones alone, or with none and a value.
void mark_solved(auto& tree, NodeId id) {
  for (; id != no_node; id = tree[id].parent) {
    auto& node = tree[id];
    if (node.status == Status::pruned) continue;
    if (node.status == Status::open || node.status == Status::growing) return;
    const Living living(tree, id);
    if (living.any ? !living.solved : !node.evaluated) return;
    node.solved = true;
  }
}

/// Never stops a search early.
struct NeverStop {
  bool operator()(const auto&, NodeId) const { return false; }
};

/// Says when the search of a tree is over, and records why.
template <class Stop>
class SearchEnd {
 public:
  SearchEnd(const MctsOptions& options, const Stop& stop, auto& tree)
      : options_(&options),
        stop_(stop),
        idle_(!options.budget.limited() && !options.solve && never_stops),
        began_(options.budget.start(tree)) {
    tree.ending = SearchFacts::Ending::done;
  }
  /// Asked before each simulation: true if the search is over.
  bool over(auto& tree) {
    if (idle_) return false;
    if (stopped_ || tree[tree.root()].solved) return true;
    if (!options_->budget.limited() || !options_->budget.spent(tree, tree.steps, began_)) return false;
    tree.ending = SearchFacts::Ending::budget;
    return true;
  }
  /// Ends the search where it stands.
  void stop() { idle_ = false, stopped_ = true; }
  /// Called after each merged simulation with the node where it ended. A stop rule must know which values are final.
  void merged(auto& env, auto& tree, const Place& end) {
    if (never_stops && !options_->solve) return;
    settle_kind(*options_, env, tree, end);
    if (options_->solve) mark_solved(tree, end.node);
    if (stop_(std::as_const(tree), end.node)) stopped_ = true;
  }

 private:
  static constexpr bool never_stops = std::is_same_v<Stop, NeverStop>;
  const MctsOptions* options_;
  Stop stop_;
  bool idle_, stopped_ = false;
  double began_;
};

}  // namespace espalier::detail
