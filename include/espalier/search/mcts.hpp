#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/policy/moments.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/evaluation.hpp>
#include <espalier/search/detail/mcts_descent.hpp>
#include <espalier/search/detail/mcts_growth.hpp>
#include <espalier/search/detail/pruning.hpp>
#include <espalier/search/mcts_options.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

namespace detail {

template <class Engine, class Env>
class SlidingWindow;

/// Adds a value at a leaf and at its ancestors, for each as the player sees it who moved there (negamax).
template <class Env, class Back>
decltype(auto) backup_for(Env& env, const Back& back) {
  if constexpr (!requires(Env& e, typename Env::State& s) { e.player(s); }) return (back);
  else {
    static_assert(bool(TwoPlayers<Env>), "environment: its player must be player(const State&) -> 0 or 1");
    static_assert(std::is_same_v<Back, MeanBackup>, "backup: must be MeanBackup where there is player(state)");
    return [&env](auto& tree, NodeId leaf, const auto& value) {
      for (NodeId id = leaf; id != no_node; id = tree[id].parent) {
        tree[id].total += seen(env, tree, id, value);
        ++tree[id].visits;
      }
    };
  }
}

}  // namespace detail

/// Monte-Carlo tree search. Each simulation selects down to a node that may grow, adds children, evaluates the first
/// new one (or others, see `MctsOptions::Values`) and backs its value up. A node that cannot grow and has no children
/// is evaluated once. Later visits enter the same value again, except with `solve`, where every value enters once. The
/// search ends after its simulations, or earlier by its budget, by the rule `stop`, or when the root is solved.
///
/// Where the environment has player(state) -> 0 or 1, two players with opposite interests take turns, or not.
/// Evaluators and rewards give values for player 0. A node's total is for who moved to it, the root's for 0.
///
/// If environment and evaluator await nothing, `search` runs as a plain loop. As a task, up to `window` simulations are
/// under way in one tree. Selection j is made when exactly the simulations 0 ... j - window are merged, in index order.
/// Those in between count as visits whose value is not known yet. A simulation that reaches a node which an earlier one
/// is growing does what `collision` says. So no tree depends on the order in which answers arrive.
///
/// The pruning policy is asked after each simulation's merge: about the parent of the node whose value was merged, and
/// those of its children that have a value. A pruned child is never selected again. Its visits and values stay in its
/// ancestors, and simulations under way below it still merge. "Enough" ends the growth of the parent. A node that gets
/// no more children and has none left is cut too. The search ends when that is the root.
template <class Evaluate, class Select = Uct, class Prune = KeepAll, class Back = MeanBackup,
          class Stop = detail::NeverStop>
class Mcts {
 public:
  using Options = MctsOptions;
  Mcts(Options options, Evaluate evaluate, Select select = Select(), Prune prune = Prune(), Back back = Back(),
       Stop stop = Stop())
      : options_(std::move(options)),
        evaluate_(std::move(evaluate)),
        select_(std::move(select)),
        prune_(std::move(prune)),
        back_(std::move(back)),
        stop_(std::move(stop)) {
    options_.check();
    detail::refuse(prune_, "Mcts", true, true);
  }

  template <class Env>
  using TreeOf = detail::TreeBy<Evaluate, Env>;
  /// Grows a tree as a task, with <espalier/search/mcts_task.hpp>. The environment and this engine must outlive it.
  template <detail::SearchedBy<Evaluate, Select, Prune, Back, Stop> Env>
  Task<TreeOf<Env>> operator()(Env& env, typename Env::State root, Seed seed) {
    return (*this)(env, TreeOf<Env>(std::move(root), seed));
  }
  /// Adds `simulations` more to an existing tree.
  template <detail::SearchedBy<Evaluate, Select, Prune, Back, Stop> Env>
  Task<TreeOf<Env>> operator()(Env& env, TreeOf<Env> tree) {
    static_assert(
        requires { sizeof(detail::SlidingWindow<Mcts, Env>); },
        "to call Mcts as a task, include <espalier/search/mcts_task.hpp>");
    return detail::SlidingWindow<Mcts, Env>::grow(this, &env, std::move(tree));
  }

  /// Grows the same tree as the task with window 1, in a plain loop. Choices are not counted.
  template <detail::SearchedBy<Evaluate, Select, Prune, Back, Stop> Env>
    requires detail::PlainEvaluator<Evaluate, Env>
  TreeOf<Env> search(Env& env, typename Env::State root, Seed seed) {
    return search(env, TreeOf<Env>(std::move(root), seed));
  }
  template <detail::SearchedBy<Evaluate, Select, Prune, Back, Stop> Env>
    requires detail::PlainEvaluator<Evaluate, Env>
  TreeOf<Env> search(Env& env, TreeOf<Env> tree) {
    if (options_.expand == Options::Expand::one) tree.reserve(tree.size() + options_.simulations);
    const Place top{tree.root(), tree.seed, 0};
    detail::SearchEnd<Stop> watch(options_, stop_, tree);
    end_branch(tree, tree.root(), watch);
    std::vector<Place> fresh;
    for (std::uint32_t i = 0; i < options_.simulations && !watch.over(tree); ++i) {
      ++tree.steps;
      Place place = detail::descend<false>(options_, select_, env, tree, top);
      fresh.clear();
      while (tree[place.node].status == Status::open && !detail::value_first(options_, tree, place)) {
        grow(env, tree, place, fresh);
        if (!fresh.empty()) break;
        end_branch(tree, place.node, watch);
        place = detail::descend<false>(options_, select_, env, tree, place);
      }
      if (fresh.empty()) fresh.push_back(place);
      for (const Place& end : fresh) {
        if (needs_value(tree, end.node)) {
          const Context context(end.seed, 0, &tree.ledger);
          auto result = detail::evaluate(evaluate_, env, tree.state(end.node), context);
          enter(env, tree, end, result);
        } else {
          enter_again(env, tree, end.node);
        }
        prune_beside(env, tree, end.node, watch);
        watch.merged(env, tree, end);
      }
    }
    Budget::end(tree);
    return tree;
  }

  template <class Env, class... More>
    requires(!detail::SearchedBy<Env, Evaluate, Select, Prune, Back, Stop>)
  auto operator()(Env&, More&&...) {
    const auto refused = detail::misfit<Env, Evaluate, Prune, Select, Back, Stop>();
    return Task<std::remove_const_t<decltype(refused)>>();
  }
  template <class Env, class... More>
    requires(!detail::SearchedBy<Env, Evaluate, Select, Prune, Back, Stop> || !detail::PlainEvaluator<Evaluate, Env>)
  auto search(Env&, More&&...) {
    return detail::misfit<Env, Evaluate, Prune, Select, Back, Stop>();
  }

 private:
  template <class Engine, class Env>
  friend class detail::SlidingWindow;
  using Place = detail::Place;
  using Evaluator = Evaluate;
  using StopRuleType = Stop;

  /// Grows a node at once. Adds to `fresh` the new children that are to be valued.
  template <class Env, class Tree>
  void grow(Env& env, Tree& tree, const Place& parent, std::vector<Place>& fresh) {
    detail::Valued valued(options_);
    const typename Env::State from = tree.state(parent.node);
    const std::uint32_t samples = options_.prior.as_proposed() ? 1 : detail::samples_of(options_, env.kinds(from));
    detail::for_each_ask(
        options_, env, tree, parent, &tree.ledger, [&](Kind kind, std::uint32_t n, const Context& context) {
          for (auto&& proposal : detail::propose(env, from, kind, n, context)) {
            const float weight = options_.prior.weight(proposal, samples);
            detail::Sibling child = detail::find(tree, parent.node, proposal);
            if (child.node != no_node) {
              tree[child.node].prior += weight;
              continue;
            }
            const Context there(parent.seed.child(child.ordinal), 0, &tree.ledger);
            const bool own = valued(proposal);
            if (proposal.closed != Reason::none)
              detail::add(options_.prior, tree, parent.node, std::forward<decltype(proposal)>(proposal), weight, from);
            else {
              auto state = detail::step(env, from, proposal.action, there);
              child.node = detail::add(options_.prior, tree, parent.node, std::forward<decltype(proposal)>(proposal),
                                       weight, std::move(state));
              if (own) fresh.push_back(detail::below(parent, child));
            }
          }
        });
    options_.prior.share(tree, parent.node);
  }

  /// True if the end of a simulation must be evaluated: it was not yet, and its children are not all solved.
  bool needs_value(const auto& tree, NodeId node) const {
    if (tree[node].evaluated) return false;
    if (!options_.solve) return true;
    const detail::Living living(tree, node);
    return !(living.any && living.solved);
  }
  /// Enters a node's value, and grafts the paths of its rollouts.
  void enter(auto& env, auto& tree, const Place& end, auto& result) const {
    detail::enter_evaluation(tree, end.node, result, detail::backup_for(env, back_), options_.range);
    if constexpr (requires { result.paths; }) detail::graft(options_, env, tree, end, result.paths);
  }
  /// Enters the value of a node that cannot grow once more. Does nothing for a pruned node or with `solve`.
  void enter_again(auto& env, auto& tree, NodeId node) const {
    if (tree[node].status == Status::pruned || options_.solve) return;
    detail::backup_for(env, back_)(tree, node, detail::seen(env, tree, node, tree[node].mean()));
  }

  /// Asks the policy about a node whose value was merged and its siblings. True if enough is known of their parent.
  template <class Env, class Tree>
  bool prune_beside(Env& env, Tree& tree, NodeId node, detail::SearchEnd<Stop>& watch) const {
    constexpr bool asked =
        detail::ErasedPruning<Prune> || (!detail::PrunesBefore<Prune, Tree> && !detail::PrunesWhenDone<Prune, Tree>);
    static_assert(asked, "Mcts asks a pruning policy when values are merged, and has no `before` and no `keep`");
    const NodeId parent = tree[node].parent;
    if (detail::keeps_all(prune_) || parent == no_node) return false;
    const auto [cut, enough] = detail::as_mover(
        env, tree, parent, [&] { return detail::prune(detail::at_values, prune_, tree, parent, "Mcts"); });
    if (enough && tree[parent].status == Status::open) tree[parent].status = Status::expanded;
    if (cut || enough) options_.prior.share(tree, parent);
    end_branch(tree, parent, watch);
    return enough;
  }
  /// Ends the branch of a node whose children the policy has cut.
  void end_branch(auto& tree, NodeId node, detail::SearchEnd<Stop>& watch) const {
    if (!detail::keeps_all(prune_) && !detail::cut_ended(tree, node)) watch.stop();
  }

  Options options_;
  Evaluate evaluate_;
  Select select_;
  Prune prune_;
  Back back_;
  Stop stop_;
};

}  // namespace espalier
