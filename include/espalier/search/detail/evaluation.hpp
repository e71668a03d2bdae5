#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/tree.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace espalier::detail {

template <class E, class Env>
using evaluation_t =
    awaited_t<decltype(evaluate(std::declval<E&>(), std::declval<Env&>(), std::declval<const typename Env::State&>(),
                                std::declval<const Context&>()))>;
template <class T>
struct value_of {
  using type = T;
};
template <class T>
  requires requires(T result) { result.known; }
struct value_of<T> {
  using type = decltype(T::value);
};
/// The value type that an evaluator gives for an environment.
template <class E, class Env>
using value_of_t = typename value_of<evaluation_t<E, Env>>::type;

/// The type of the trees that an engine with this evaluator grows.
template <class Evaluate, class Env>
using TreeBy = Tree<typename Env::State, typename Env::Action, value_of_t<Evaluate, Env>>;

/// The declared range of values. A value outside it, or NaN, is an error that names the value.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  void check() const {
    if (!(low <= high)) bad_option("range", low, "a low end that is not above the high end");
  }
  void expect(double value) const {
    if (value >= low && value <= high) return;
    throw Error("a value of " + std::to_string(value) + " lies outside the declared range [" + std::to_string(low) +
                ", " + std::to_string(high) + "]");
  }
};

/// True if an evaluator wants the leaves of a simulation one after the other, because it reads what they cost.
template <class Evaluate>
bool in_turn(const Evaluate& evaluate) {
  if constexpr (requires { evaluate.in_turn(); }) return evaluate.in_turn();
  else return false;
}

/// Enters a node's own evaluation. It backs the value up and keeps the rollouts, which it takes out of `result`. An
/// unknown value prunes the node: for the budget if that has left a call out, else as malformed. A backup with
/// price(tree, node, evaluation) first sets the values from what the tree holds so far.
template <class Tree, class Result, class Back>
void enter_evaluation(Tree& tree, NodeId node, Result&& result, const Back& back, const ValueRange& range = {}) {
  const auto enter = [&](const auto& value) {
    const double worth = utility(value);
    if (!(worth >= tree.lowest && worth <= tree.highest)) {
      range.expect(worth);
      tree.lowest = std::min(tree.lowest, worth);
      tree.highest = std::max(tree.highest, worth);
    }
    back(tree, node, value);
  };
  if constexpr (requires { result.terminals; }) {
    if constexpr (requires { back.price(tree, node, result); }) back.price(tree, node, result);
    for (const auto& [state, value] : result.terminals) range.expect(utility(value));
    tree[node].evaluated = true;
    if (!result.known) return tree.prune(node, tree.ledger.refused ? Reason::budget : Reason::malformed);
    enter(result.value);
    for (auto& [state, value] : result.terminals) tree.rollouts.push_back({node, std::move(state), value});
  } else {
    tree[node].evaluated = true;
    enter(result);
  }
}

}  // namespace espalier::detail
