#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/search/detail/evaluation.hpp>
#include <espalier/search/detail/pruning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Merges equal actions of equal kind, in order. The first one stays and takes the priors of its duplicates, so a prior
/// is the share of the samples that said the same. Malformed proposals are never merged.
template <class Action>
std::vector<Proposal<Action>> dedup(std::vector<Proposal<Action>> proposals) {
  std::vector<Proposal<Action>> kept;
  for (auto& proposal : proposals) {
    Proposal<Action>* twin = nullptr;
    for (auto& other : kept)
      if (other.closed == proposal.closed && proposal.closed != Reason::malformed && other.kind == proposal.kind &&
          other.action == proposal.action)
        twin = &other;
    if (twin) twin->prior += proposal.prior;
    else kept.push_back(std::move(proposal));
  }
  return kept;
}

/// Appends what an environment proposed. A vector is moved from, any other range is copied.
template <class Action, class Range>
void append(std::vector<Proposal<Action>>& list, Range drawn) {
  if constexpr (std::is_same_v<Range, std::vector<Proposal<Action>>>)
    list.insert(list.end(), std::make_move_iterator(drawn.begin()), std::make_move_iterator(drawn.end()));
  else list.insert(list.end(), std::ranges::begin(drawn), std::ranges::end(drawn));
}

/// The state that a proposal leads to. One that could not be read leads nowhere. The proposal must outlive the task.
template <class Env, class Item>
Task<typename Env::State> step_or_stay(Env& env, const typename Env::State& from, const Item& proposal,
                                       const Context& context) {
  if (proposal.closed != Reason::none) return as_task(typename Env::State(from));
  return as_task(step(env, from, proposal.action, context));
}

/// A node with its seed.
struct Seeded {
  NodeId node = 0;
  Seed seed{};
};

/// A node that gets children.
struct Parent {
  NodeId node = 0;
  Seed seed{};
  std::vector<Seeded> children{};
  std::uint64_t next = 0;  ///< the ordinal of the next child
};

/// The samples of one kind that a parent draws. Several asks of one parent follow one another.
struct Ask {
  Parent* parent;
  Kind kind;
  std::uint32_t n;
  std::uint32_t first;  ///< index of the first sample
  std::uint64_t kept;   ///< calls of the budget that are kept back before a reply is drawn again
};

/// Draws what is asked for and adds it as children. Equal proposals of one parent are merged. chosen(ask, proposals) ->
/// those that become children, with their priors. What was closed when it was proposed is pruned.
template <class Env, class Tree, class Chosen>
Task<void> add_children(Env* env, Tree* tree, std::vector<Ask> asks, Chosen chosen) {
  using State = typename Env::State;
  using Proposals = std::vector<Proposal<typename Env::Action>>;
  std::vector<Task<proposals_t<Env>>> asked;
  for (const Ask& ask : asks) {
    const Context context(ask.parent->seed, ask.first, &tree->ledger, ask.kept);
    asked.push_back(as_task(propose(*env, tree->state(ask.parent->node), ask.kind, ask.n, context)));
  }
  auto drawn = co_await gather(std::move(asked));
  std::vector<std::pair<const Ask*, Proposals>> all;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (all.empty() || all.back().first->parent != asks[i].parent) all.emplace_back(&asks[i], Proposals());
    append(all.back().second, std::move(drawn[i]));
  }
  std::vector<Task<State>> steps;
  for (auto& [ask, proposals] : all) {
    proposals = chosen(*ask, dedup(std::move(proposals)));
    for (const auto& proposal : proposals) {
      Parent& parent = *ask->parent;
      parent.children.push_back({no_node, parent.seed.child(parent.next++)});
      const Context context(parent.children.back().seed, 0, &tree->ledger);
      steps.push_back(step_or_stay(*env, tree->state(parent.node), proposal, context));
    }
  }
  std::vector<State> states = co_await gather(std::move(steps));
  auto state = states.begin();
  for (auto& [ask, proposals] : all) {
    auto child = ask->parent->children.end() - static_cast<std::ptrdiff_t>(proposals.size());
    for (auto& proposal : proposals) {
      const float prior = proposal.prior;
      const NodeId id =
          tree->add(ask->parent->node, std::move(proposal.action), std::move(*state++), proposal.kind, prior);
      if (proposal.closed != Reason::none) tree->prune(id, proposal.closed);
      (child++)->node = id;
    }
  }
}

/// Completions for `width` children of each legal kind and their values (`value_calls` each), if all replies are read.
std::uint64_t calls_of(auto& env, const auto& tree, const std::vector<Seeded>& places, std::uint64_t width,
                       std::uint64_t value_calls) {
  std::uint64_t kinds = 0;
  for (const auto& [node, seed] : places) kinds += std::uint64_t(std::ranges::distance(env.kinds(tree.state(node))));
  return kinds * width * (1 + value_calls);
}

/// Gives each place up to `width` children of each legal kind, in the order of the places. A child without legal kinds
/// is terminal. `calls`: completions that all of them ask for, values included.
Task<std::vector<Seeded>> add_all_kinds(auto* env, auto* tree, std::vector<Seeded> places, std::uint32_t width,
                                        std::uint64_t calls) {
  std::vector<Parent> parents;
  for (const auto& [node, seed] : places) parents.push_back({node, seed});
  std::vector<Ask> asks;
  for (Parent& parent : parents)
    for (const Kind kind : env->kinds(tree->state(parent.node)))
      asks.push_back({&parent, kind, width, 0, calls - std::min<std::uint64_t>(calls, width)});
  const auto all = [](const Ask&, auto proposals) { return proposals; };
  co_await add_children(env, tree, std::move(asks), all);
  std::vector<Seeded> fresh;
  for (const Parent& parent : parents) {
    (*tree)[parent.node].status = Status::expanded;
    for (const Seeded& child : parent.children) {
      auto& node = (*tree)[child.node];
      if (node.status == Status::open && std::ranges::empty(env->kinds(tree->state(child.node))))
        node.status = Status::terminal;
      fresh.push_back(child);
    }
  }
  co_return fresh;
}

/// Values nodes at once, and enters each value at its node alone. `each`: the calls of one value.
template <class Evaluate, class Env, class Tree>
Task<void> value_nodes(Evaluate* evaluator, Env* env, Tree* tree, std::vector<Seeded> nodes, std::uint64_t each = 0) {
  using Result = evaluation_t<Evaluate, Env>;
  std::vector<Task<Result>> tasks;
  const std::uint64_t others = nodes.empty() ? 0 : nodes.size() - 1;
  for (const auto& [node, seed] : nodes) {
    const Context context(seed, 0, &tree->ledger, each * others);
    tasks.push_back(as_task(evaluate(*evaluator, *env, tree->state(node), context)));
  }
  std::vector<Result> results = co_await gather(std::move(tasks));
  for (std::size_t i = 0; i < results.size(); ++i)
    enter_evaluation(*tree, nodes[i].node, std::move(results[i]), LeafBackup());
}

/// Values the nodes that are not pruned. Removes those that are or that could not be valued.
Task<void> value_children(auto* evaluator, auto* env, auto* tree, std::vector<Seeded>* nodes, std::uint64_t each) {
  const auto pruned = [tree](const Seeded& one) { return (*tree)[one.node].status == Status::pruned; };
  std::erase_if(*nodes, pruned);
  co_await value_nodes(evaluator, env, tree, *nodes, each);
  std::erase_if(*nodes, pruned);
}

/// Gives each place its children and values them. The policy may cut some before and after. Returns those left.
Task<std::vector<Seeded>> grow_valued(auto* evaluator, const auto* policy, auto* env, auto* tree,
                                      std::vector<Seeded> places, const auto* options, std::uint64_t calls,
                                      const char* engine) {
  std::vector<Seeded> fresh = co_await add_all_kinds(env, tree, places, options->width, calls);
  prune_all(before_values, *policy, *tree, places, engine);
  co_await value_children(evaluator, env, tree, &fresh, options->value_calls);
  prune_all(at_values, *policy, *tree, places, engine);
  std::erase_if(fresh, [tree](const Seeded& child) { return (*tree)[child.node].status == Status::pruned; });
  co_return fresh;
}

}  // namespace espalier::detail
