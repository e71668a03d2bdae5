#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/dedup.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/search/rollout.hpp>
#include <espalier/search/sliding_window.hpp>

#include <limits>
#include <utility>
#include <vector>

namespace espalier {

/// Numbers of a Monte-Carlo tree search.
struct MctsOptions {
  enum class Expand : std::uint8_t {
    all,  ///< a node gets its `width` children of every kind at once
    one   ///< one child a simulation; a node with less than `width` children of a kind grows before it is passed
  };
  std::uint32_t simulations = 32;  ///< > 0
  std::uint32_t width = 4;         ///< samples a node and kind, 1 to 255
  std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();  ///< nodes this deep get no children
  std::uint32_t window = 1;        ///< simulations under way in one tree, 1 to 65535
  Expand expand = Expand::all;
};

/// Monte-Carlo tree search: select by policy down to a node that may grow, add children, evaluate the first new one, back
/// its value up. A node that cannot grow and has no children is evaluated once; later visits enter the same value again.
///
/// Environments and evaluators that await nothing run as a plain loop (`search`). As a task, up to `window` simulations
/// are under way in a tree: selection j is made when exactly the simulations 0 ... j - window are merged, in index order,
/// and those between weigh as visits of value zero. A simulation that reaches a node which an earlier one is growing
/// waits for the children. So no tree depends on the order in which answers arrive.
template <class Evaluate, class Select = Uct, class Back = MeanBackup>
class Mcts {
 public:
  using Options = MctsOptions;
  Mcts(Options options, Evaluate evaluate, Select select = Select(), Back back = Back())
      : options_(options), evaluate_(std::move(evaluate)), select_(std::move(select)), back_(std::move(back)) {
    if (options_.simulations == 0) bad_option("simulations", options_.simulations, "1 or more");
    if (options_.width == 0 || options_.width > 255) bad_option("width", options_.width, "1 to 255");
    if (options_.window == 0 || options_.window > 65535) bad_option("window", options_.window, "1 to 65535");
  }

  template <class Env>
  using TreeOf = Tree<typename Env::State, typename Env::Action, detail::value_of_t<Evaluate, Env>>;
  template <class Env>
  static constexpr bool plain = PlainEnvironment<Env> && !detail::is_task_v<decltype(detail::evaluate(
      std::declval<Evaluate&>(), std::declval<Env&>(), std::declval<const typename Env::State&>(), std::declval<const Context&>()))>;

  /// Grows a tree as a task. The environment and this engine must outlive it.
  template <Environment Env>
    requires Evaluator<Evaluate, Env> && SelectionPolicy<Select, detail::value_of_t<Evaluate, Env>> && Backup<Back, TreeOf<Env>>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    return detail::SlidingWindow<Mcts, Env>::grow(this, &env, std::move(root), seed);
  }

  /// Grows the tree that the task gives with window 1, as a plain loop.
  template <Environment Env>
    requires Evaluator<Evaluate, Env> && SelectionPolicy<Select, detail::value_of_t<Evaluate, Env>> &&
             Backup<Back, TreeOf<Env>> && plain<Env>
  TreeOf<Env> search(Env& env, typename Env::State root, Seed seed) {
    TreeOf<Env> tree(std::move(root), seed);
    if (options_.expand == Options::Expand::one) tree.reserve(options_.simulations + std::size_t(1));
    const Place top{tree.root(), seed, 0};
    for (std::uint32_t i = 0; i < options_.simulations; ++i) {
      Place place = descend(env, tree, top);
      while (tree[place.node].status == Status::open) {
        const NodeId parent = place.node;
        grow(env, tree, place);
        if (place.node != parent) break;
        place = descend(env, tree, place);
      }
      if (tree[place.node].evaluated) enter_again(tree, place.node);
      else enter_evaluation(tree, place.node, detail::evaluate(evaluate_, env, tree.state(place.node), Context(place.seed, 0, &tree.ledger)), back_);
    }
    return tree;
  }

 private:
  template <class Engine, class Env>
  friend class detail::SlidingWindow;
  using Place = detail::Place;
  using Evaluator = Evaluate;

  /// A child and its place among the siblings.
  struct Sibling {
    NodeId node = no_node;
    std::uint64_t ordinal = 0;
  };

  /// Follows the policy to a node that may grow or has no children. Settles what kind of node that is.
  template <class Env, class Tree>
  Place descend(Env& env, Tree& tree, Place place) const {
    for (;;) {
      auto& node = tree[place.node];
      if (node.status == Status::open && node.drawn == 0) {
        if (place.depth >= options_.max_depth || std::ranges::empty(env.kinds(tree.state(place.node)))) node.status = Status::terminal;
      }
      if (node.status == Status::open || node.status == Status::growing || node.first_child == no_node) return place;
      const Sibling child = best_child(tree, place.node);
      if (child.node == no_node) return place;
      place = below(place, child);
    }
  }

  /// The child with the highest score, the oldest of equals; no_node if all are pruned.
  template <class Tree>
  Sibling best_child(const Tree& tree, NodeId id) const {
    const auto& parent = tree[id];
    const auto score = select_at(parent);
    Sibling best;
    double best_score = 0;
    std::uint64_t ordinal = 0;
    for (NodeId child = parent.first_child; child != no_node; child = tree[child].next_sibling, ++ordinal) {
      const auto& node = tree[child];
      if (node.status == Status::pruned) continue;
      const double s = score(node);
      if (best.node != no_node && !(s > best_score)) continue;
      best = {child, ordinal};
      best_score = s;
    }
    return best;
  }
  template <class Node>
  auto select_at(const Node& parent) const {
    if constexpr (requires { select_.at(parent); }) return select_.at(parent);
    else return [&](const Node& child) { return select_(parent, child); };
  }
  static Place below(const Place& place, const Sibling& child) {
    return {child.node, place.seed.child(child.ordinal), place.depth + 1};
  }

  /// Says what to draw next for a node that may grow: draw(kind, n, context). Marks it as drawn, and as expanded if that
  /// is all that it will get.
  template <class Env, class Tree, class Draw>
  void for_each_ask(Env& env, Tree& tree, const Place& place, Draw draw) const {
    const auto kinds = env.kinds(tree.state(place.node));
    const std::uint32_t drawn = tree[place.node].drawn;
    const bool all = options_.expand == Options::Expand::all;
    const auto total = static_cast<std::uint32_t>(std::ranges::distance(kinds)) * options_.width;
    const std::uint32_t after = all ? total : drawn + 1;
    tree[place.node].drawn = static_cast<std::uint16_t>(std::min<std::uint32_t>(after, 65535));
    tree[place.node].status = after >= total ? Status::expanded : Status::open;
    std::uint32_t position = 0;
    for (const Kind kind : kinds) {
      const std::uint32_t first = position++ * options_.width;
      if (all) draw(kind, options_.width, Context(place.seed, 0, &tree.ledger));
      else if (drawn >= first && drawn < first + options_.width) draw(kind, 1u, Context(place.seed, drawn - first, &tree.ledger));
    }
  }

  /// The child that says the same as a proposal; if there is none, no_node and the place that a new one would have.
  template <class Tree, class Proposal>
  static Sibling find(const Tree& tree, NodeId parent, const Proposal& proposal) {
    Sibling found;
    for (NodeId child = tree[parent].first_child; child != no_node; child = tree[child].next_sibling, ++found.ordinal)
      if (proposal.closed == Reason::none && !closed_at_birth(tree[child]) && tree[child].kind == proposal.kind &&
          tree.action(child) == proposal.action) {
        found.node = child;
        break;
      }
    return found;
  }

  template <class Tree, class Proposal>
  static NodeId add(Tree& tree, NodeId parent, Proposal&& proposal, typename Tree::State state) {
    const NodeId id = tree.add(parent, std::forward<Proposal>(proposal).action, std::move(state), proposal.kind, proposal.prior);
    if (proposal.closed != Reason::none) tree.prune(id, proposal.closed);
    return id;
  }

  /// Grows a node at once and moves `place` to the first new child that lives, if there is one.
  template <class Env, class Tree>
  void grow(Env& env, Tree& tree, Place& place) {
    const Place parent = place;
    const typename Env::State from = tree.state(parent.node);
    for_each_ask(env, tree, parent, [&](Kind kind, std::uint32_t n, const Context& context) {
      for (auto&& proposal : detail::propose(env, from, kind, n, context)) {
        Sibling child = find(tree, parent.node, proposal);
        if (child.node != no_node) {
          tree[child.node].prior += proposal.prior;
          continue;
        }
        const Context there(parent.seed.child(child.ordinal), 0, &tree.ledger);
        if (proposal.closed != Reason::none) add(tree, parent.node, std::forward<decltype(proposal)>(proposal), from);
        else {
          auto state = detail::step(env, from, proposal.action, there);
          child.node = add(tree, parent.node, std::forward<decltype(proposal)>(proposal), std::move(state));
          if (place.node == parent.node) place = below(parent, child);
        }
      }
    });
  }

  /// Enters the value of a node that cannot grow once more; nothing if it has none.
  template <class Tree>
  void enter_again(Tree& tree, NodeId node) const {
    if (tree[node].status != Status::pruned) back_(tree, node, tree[node].mean());
  }

  Options options_;
  Evaluate evaluate_;
  Select select_;
  Back back_;
};

}  // namespace espalier
