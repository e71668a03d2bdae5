#pragma once

#include <espalier/policy/backup.hpp>
#include <espalier/policy/moments.hpp>
#include <espalier/policy/prune.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/detail/contest.hpp>
#include <espalier/search/detail/layered_growth.hpp>
#include <espalier/search/detail/pruning.hpp>
#include <espalier/search/detail/tree_search.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace espalier {

/// Layer-by-layer expansion of decisions and their executions, with pruning (DecEx-RAG, section 2.2). At every node of
/// the frontier the legal kinds are grown in order, one per stage. Each stage
///   1. draws samples of its kind, up to `width` including those of earlier stages, and merges equal ones,
///   2. asks the pruning policy about each node's children before they are valued,
///   3. evaluates the rest and asks the policy at values, after each round. Terminal children go first, because they
///      cost nothing.
/// A verdict of "enough" skips the remaining kinds. At the end the policy's `keep` chooses the children that form the
/// next frontier. Policies are asked node by node, in the order of the frontier.
/// An evaluator may have curtails() -> the number of rollouts, 0 = off, and rule(kind) -> the rule of contests of
/// children of that kind. Then contests value the children that are not terminal, as soon as no later stage draws their
/// kind. All nodes of a frontier pass a stage together, and results are entered in node order.
template <class Evaluate, class Prune = KeepAll>
class Layered : public detail::TreeSearch<Layered<Evaluate, Prune>, Evaluate, Prune, true> {
 public:
  struct Options {
    std::uint32_t width = 3;    ///< samples per kind (k), > 0
    bool value_losing = false;  ///< also evaluates children that lost a decision, for preference data
    Budget budget{};            ///< checked before each stage
  };
  Layered(Options options, Evaluate evaluate, Prune prune = Prune())
      : options_(std::move(options)), evaluate_(std::move(evaluate)), prune_(std::move(prune)) {
    if (options_.width == 0) bad_option("width", options_.width, "1 or more");
    options_.budget.check();
  }

 private:
  friend detail::TreeSearch<Layered, Evaluate, Prune, true>;
  using Growth = detail::LayeredGrowth;

  template <class Env>
  Task<detail::TreeBy<Evaluate, Env>> grow(Env* env, typename Env::State root, Seed seed) {
    detail::TreeBy<Evaluate, Env> tree(std::move(root), seed);
    const double began = options_.budget.start(tree);
    std::vector<Growth> frontier;
    admit(*env, tree, tree.root(), seed, frontier);
    while (!frontier.empty()) {
      co_await stages(env, &tree, &frontier, began);
      if (tree.ending == SearchFacts::Ending::budget) break;
      std::vector<Growth> next;
      for (auto& growth : frontier) {
        ask(detail::when_done, tree, growth);
        tree[growth.node].status = Status::expanded;
        for (const auto& [child, child_seed] : growth.children)
          if (tree[child].status == Status::open) admit(*env, tree, child, child_seed, next);
      }
      frontier = std::move(next);
    }
    detail::finish(tree);
    co_return tree;
  }

  /// Grows all kinds of the frontier's nodes, unless the budget runs out first.
  Task<void> stages(auto* env, auto* tree, std::vector<Growth>* frontier, double began) {
    while (std::ranges::any_of(*frontier, &Growth::unfinished)) {
      if (!options_.budget.begin_step(*tree, began)) co_return;
      co_await draw(env, tree, frontier);
      for (auto& growth : *frontier) ask(detail::before_values, *tree, growth);
      if (options_.budget.calls_left(Budget::costs(*tree)) == 0) detail::hold_back(*env, *tree, *frontier);
      for (const bool terminal : {true, false}) {
        co_await value(env, tree, frontier, terminal);
        for (auto& growth : *frontier) ask(detail::at_values, *tree, growth);
      }
      for (auto& growth : *frontier) ++growth.stage;
    }
  }

  static void admit(auto& env, auto& tree, NodeId node, Seed seed, std::vector<Growth>& frontier) {
    Growth growth(env, tree, node, seed);
    if (growth.kinds.empty()) tree[node].status = Status::terminal;
    else frontier.push_back(std::move(growth));
  }

  Task<void> draw(auto* env, auto* tree, std::vector<Growth>* frontier) {
    std::vector<detail::Ask> asks;
    for (auto& growth : *frontier) {
      if (!growth.unfinished()) continue;
      const std::uint32_t have = growth.drawn(*tree, options_.width);
      if (have < options_.width) asks.push_back({&growth, growth.kinds[growth.stage], options_.width - have, have, 0});
    }
    return detail::add_children(env, tree, std::move(asks), [tree, this](const detail::Ask& ask, auto proposals) {
      for (auto& proposal : proposals) proposal.prior /= static_cast<float>(options_.width);
      std::erase_if(proposals, [&](const auto& proposal) { return detail::merged(*tree, *ask.parent, proposal); });
      return proposals;
    });
  }
  /// Evaluates the children without a value, either the terminal ones or the others, as `terminal` says, also
  /// outvoted terminal ones: this is free, and preference data uses it. With `value_losing`, all that were cut too.
  Task<void> value(auto* env, auto* tree, std::vector<Growth>* frontier, bool terminal) {
    std::vector<detail::Seeded> nodes;
    std::vector<detail::Contest> contests;
    for (auto& growth : *frontier) {
      if (!terminal) contend(*tree, growth, contests);
      for (const auto& [child, seed] : growth.children) {
        const auto& state = tree->state(child);
        const auto& node = (*tree)[child];
        const bool lost = node.reason == Reason::outvoted || (options_.value_losing && node.reason == Reason::skipped);
        const bool open = node.status == Status::open && (terminal || !curtails());
        const bool wanted = open || (lost && (terminal || options_.value_losing));
        if (!wanted || node.evaluated || std::ranges::empty(env->kinds(state)) != terminal) continue;
        if constexpr (requires { evaluate_.wants(*env, state); })
          if (!evaluate_.wants(*env, state)) continue;
        nodes.push_back({child, seed});
      }
    }
    co_await detail::value_nodes(&evaluate_, env, tree, std::move(nodes));
    if constexpr (may_curtail)
      co_await detail::hold_contests(env, &evaluate_, tree, std::move(contests), evaluate_.curtails());
  }

  static constexpr bool may_curtail = requires(const Evaluate& e) { e.curtails(); };
  [[nodiscard]] bool curtails() const {
    if constexpr (may_curtail) return evaluate_.curtails() > 0;
    return false;
  }
  /// Adds the contests of the open children whose kind no later stage draws.
  void contend(const auto& tree, const Growth& growth, std::vector<detail::Contest>& contests) const {
    if constexpr (may_curtail) {
      std::vector<Kind> kinds;
      const std::size_t first = contests.size();
      for (const auto& [child, seed] : growth.children) {
        const auto& node = tree[child];
        if (!curtails() || node.status != Status::open || node.evaluated || growth.draws_later(node.kind)) continue;
        const auto known = std::find(kinds.begin(), kinds.end(), node.kind);
        const auto place = first + static_cast<std::size_t>(known - kinds.begin());
        if (known == kinds.end()) {
          kinds.push_back(node.kind);
          contests.emplace_back().rule = evaluate_.rule(node.kind);
        }
        contests[place].children.push_back({child, seed});
      }
    }
  }

  /// Asks the policy about a node's children.
  void ask(auto moment, auto& tree, Growth& growth) const {
    if (detail::prune(moment, prune_, tree, growth.node, "Layered").enough) growth.skip_rest(tree);
  }

  Options options_;
  Evaluate evaluate_;
  Prune prune_;
};

/// Follows the policy to its end, with one sample per step.
class PolicyLoop : public Layered<detail::NoValue, Keep<TopK>> {
 public:
  explicit PolicyLoop(Budget budget = Budget())
      : Layered({.width = 1, .budget = std::move(budget)}, detail::NoValue(), Keep(TopK(1))) {}
};

}  // namespace espalier
