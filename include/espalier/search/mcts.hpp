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
  std::uint32_t width = 4;         ///< samples a node and kind, > 0
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
    if (options_.width == 0) bad_option("width", options_.width, "1 or more");
    if (options_.window == 0 || options_.window > 65535) bad_option("window", options_.window, "1 to 65535");
  }

  template <Environment Env>
  using TreeOf = Tree<typename Env::State, typename Env::Action, detail::value_of_t<Evaluate, Env>>;
  template <class Env>
  static constexpr bool plain = PlainEnvironment<Env> && !detail::is_task_v<decltype(detail::evaluate(
      std::declval<Evaluate&>(), std::declval<Env&>(), std::declval<const typename Env::State&>(), std::declval<const Context&>()))>;

  /// Grows a tree as a task. The environment and this engine must outlive it.
  template <Environment Env>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    return detail::SlidingWindow<Mcts, Env>::grow(this, &env, std::move(root), seed);
  }

  /// Grows the tree that the task gives with window 1, as a plain loop.
  template <Environment Env>
    requires plain<Env>
  TreeOf<Env> search(Env& env, typename Env::State root, Seed seed) {
    TreeOf<Env> tree(std::move(root), seed);
    if (options_.expand == Options::Expand::one) tree.reserve(options_.simulations + std::size_t(1));
    for (std::uint32_t i = 0; i < options_.simulations; ++i) {
      Place place = descend(env, tree, Place{tree.root(), seed, 0});
      while (tree[place.node].status == Status::open) {
        NodeId child = no_node;
        for_each_ask(env, tree, place, [&](Kind kind, std::uint32_t n, const Context& context) {
          for (auto&& proposal : detail::propose(env, tree.state(place.node), kind, n, context)) {
            if (merged(tree, place.node, proposal)) continue;
            typename Env::State state = tree.state(place.node);
            if (proposal.closed == Reason::none) state = detail::step(env, state, proposal.action, context);
            const NodeId added = add(tree, place.node, std::move(proposal), std::move(state));
            if (child == no_node && tree[added].status != Status::pruned) child = added;
          }
        });
        place = child == no_node ? descend(env, tree, place) : below(tree, place, child);
        if (child != no_node) break;
      }
      if (tree[place.node].evaluated) back_(tree, place.node, tree[place.node].mean());
      else enter_evaluation(tree, place.node, detail::evaluate(evaluate_, env, tree.state(place.node), Context(place.seed, 0, &tree.ledger)), back_);
    }
    return tree;
  }

 private:
  template <class Engine, class Env>
  friend class detail::SlidingWindow;
  using Place = detail::Place;
  using Evaluator = Evaluate;
  /// Follows the policy to a node that may grow or has no children. Settles what kind of node that is.
  template <class Env, class Tree>
  Place descend(Env& env, Tree& tree, Place place) const {
    for (;;) {
      auto& node = tree[place.node];
      if (node.status == Status::open && node.drawn == 0) {
        if (place.depth >= options_.max_depth || std::ranges::empty(env.kinds(tree.state(place.node)))) node.status = Status::terminal;
      }
      if (node.status == Status::open || node.status == Status::growing || node.first_child == no_node) return place;
      const NodeId child = best_child(tree, place.node);
      if (child == no_node) return place;
      place = below(tree, place, child);
    }
  }

  /// The child with the highest score, the oldest of equals; no_node if all are pruned.
  template <class Tree>
  NodeId best_child(const Tree& tree, NodeId id) const {
    const auto& parent = tree[id];
    const auto score = select_at(parent);
    NodeId best = no_node;
    double best_score = -std::numeric_limits<double>::infinity();
    for (NodeId child = parent.first_child; child != no_node; child = tree[child].next_sibling) {
      const auto& node = tree[child];
      if (node.status == Status::pruned) continue;
      const double s = score(node);
      if (best != no_node && !(s > best_score)) continue;
      best = child;
      best_score = s;
    }
    return best;
  }
  template <class Node>
  auto select_at(const Node& parent) const {
    if constexpr (requires { select_.at(parent); }) return select_.at(parent);
    else return [&](const Node& child) { return select_(parent, child); };
  }

  template <class Tree>
  static Place below(const Tree& tree, const Place& place, NodeId child) {
    std::uint64_t ordinal = 0;
    for (NodeId c = tree[place.node].first_child; c != child; c = tree[c].next_sibling) ++ordinal;
    return {child, place.seed.child(ordinal), place.depth + 1};
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

  /// The child that says the same as a proposal, if there is one.
  template <class Tree, class Proposal>
  static NodeId twin(const Tree& tree, NodeId parent, const Proposal& proposal) {
    if (proposal.closed != Reason::none) return no_node;
    NodeId child = tree[parent].first_child;
    while (child != no_node && !(tree[child].kind == proposal.kind && tree[child].reason != Reason::malformed && tree.action(child) == proposal.action))
      child = tree[child].next_sibling;
    return child;
  }
  template <class Tree, class Proposal>
  static bool merged(Tree& tree, NodeId parent, const Proposal& proposal) {
    const NodeId same = twin(tree, parent, proposal);
    if (same != no_node) tree[same].prior += proposal.prior;
    return same != no_node;
  }

  template <class Tree, class Proposal>
  static NodeId add(Tree& tree, NodeId parent, Proposal proposal, typename Tree::State state) {
    const NodeId id = tree.add(parent, std::move(proposal.action), std::move(state), proposal.kind, proposal.prior);
    if (proposal.closed != Reason::none) tree.prune(id, proposal.closed);
    return id;
  }

  Options options_;
  Evaluate evaluate_;
  Select select_;
  Back back_;
};

}  // namespace espalier
