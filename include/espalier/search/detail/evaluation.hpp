#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace espalier::detail {

template <class E, class Env>
using evaluation_t =
    awaited_t<decltype(evaluate(std::declval<E&>(), std::declval<Env&>(), std::declval<const typename Env::State&>(),
                                std::declval<const Context&>()))>;
template <class T>
struct value_of : std::conditional<std::is_arithmetic_v<T>, double, T> {};
template <class T>
  requires requires(T result) { result.known; }
struct value_of<T> : std::type_identity<decltype(T::value)> {};
/// The value type that an evaluator gives for an environment.
template <class E, class Env>
using value_of_t = typename value_of<evaluation_t<E, Env>>::type;

/// The type of the trees that an engine with this evaluator grows.
template <class Evaluate, class Env>
using TreeBy = Tree<typename Env::State, typename Env::Action, value_of_t<Evaluate, Env>>;

/// What a search by this evaluator and this pruning policy asks of an environment.
template <class Env, class Evaluate, class Prune>
concept GrownBy = Environment<Env> && Evaluator<Evaluate, Env> && SearchValue<value_of_t<Evaluate, Env>> &&
                  PruningPolicy<Prune, TreeBy<Evaluate, Env>>;
/// The same for Mcts with all its parts.
template <class Env, class Evaluate, class Select, class Prune, class Back, class Stop>
concept SearchedBy = GrownBy<Env, Evaluate, Prune> && SelectionPolicy<Select, value_of_t<Evaluate, Env>> &&
                     Backup<Back, TreeBy<Evaluate, Env>> && StopRule<Stop, TreeBy<Evaluate, Env>>;

template <class>
inline constexpr bool fits = false;
/// Does not compile, and says which part does not fit and what its form is.
template <class Env, class Evaluate, class Prune, class Select = void, class Back = void, class Stop = void>
Tree<int, int> misfit() {
  if constexpr (!HasTypes<Env>)
    static_assert(fits<Env>, "environment: needs State and Action, copyable, Action with == and a default constructor");
  else if constexpr (!HasKinds<Env>)
    static_assert(fits<Env>, "environment: needs kinds(const State&) -> range of Kind, empty = terminal");
  else if constexpr (!HasPropose<Env>)
    static_assert(fits<Env>, "environment: needs propose(const State&, Kind, std::uint32_t n) -> range of Proposal");
  else if constexpr (!HasStep<Env>)
    static_assert(fits<Env>, "environment: needs step(const State&, const Action& [, const Context&]) -> State");
  else if constexpr (!Evaluator<Evaluate, Env>)
    static_assert(fits<Env>, "evaluator: must be evaluate(Environment&, const State& [, const Context&]) -> value");
  else if constexpr (!SearchValue<value_of_t<Evaluate, Env>>)
    static_assert(fits<Env>, "evaluator: its value must be a double, or have +=, * double and utility(value)");
  else if constexpr (!PruningPolicy<Prune, TreeBy<Evaluate, Env>>)
    static_assert(fits<Env>,
                  "pruning policy: must be prune(const Tree&, std::span<const NodeId> siblings) const -> Verdict");
  else if constexpr (!std::is_void_v<Select> && !SelectionPolicy<Select, value_of_t<Evaluate, Env>>)
    static_assert(fits<Env>, "selection policy: must be select(const Node& parent, const Node& child) const -> double");
  else if constexpr (!std::is_void_v<Back> && !Backup<Back, TreeBy<Evaluate, Env>>)
    static_assert(fits<Env>, "backup: must be backup(Tree&, NodeId leaf, const Value&) const");
  else if constexpr (!std::is_void_v<Stop> && !StopRule<Stop, TreeBy<Evaluate, Env>>)
    static_assert(fits<Env>, "stop rule: must be stop(const Tree&, NodeId) -> bool, and copyable");
  else static_assert(fits<Env>, "search: environment or evaluator gives a Task. Call engine(env, root, seed) instead");
  return {};
}
/// The declared range of values, for which exploration weights are meant.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  void check() const {
    if (!(low <= high)) bad_option("range", low, "a low end that is not above the high end");
  }
  /// Notes the first value outside in `said`. Throws TreeError for a value that is not finite.
  void look(double value, std::string& said) const {
    if (!std::isfinite(value)) throw TreeError("a value of " + std::to_string(value) + " is not finite");
    if ((value >= low && value <= high) || !said.empty()) return;
    said = "a value of " + std::to_string(value) + " lies outside the declared range [" + std::to_string(low) + ", " +
           std::to_string(high) + "]";
  }
};

/// Enters a node's own evaluation. It backs the value up and keeps the rollouts, which it takes out of `result`. An
/// unknown value prunes the node: for the budget if that has left a call out, else as malformed. A backup with
/// price(tree, node, evaluation) first sets the values from what the tree holds so far.
void enter_evaluation(auto& tree, NodeId node, auto&& result, const auto& back, const ValueRange& range = {}) {
  const auto enter = [&](const auto& value) {
    const double worth = utility(value);
    if (!(worth >= tree.lowest && worth <= tree.highest)) {
      range.look(worth, tree.outside);
      tree.lowest = std::min(tree.lowest, worth);
      tree.highest = std::max(tree.highest, worth);
    }
    back(tree, node, value);
  };
  if constexpr (requires { result.terminals; }) {
    if constexpr (requires { back.price(tree, node, result); }) back.price(tree, node, result);
    for (const auto& [state, value] : result.terminals) range.look(utility(value), tree.outside);
    tree[node].evaluated = true;
    if (!result.known) {
      tree[node].status = Status::pruned;  // the root too
      tree[node].reason = tree.ledger.refused ? Reason::budget : Reason::malformed;
      return;
    }
    enter(result.value);
    for (auto& [state, value] : result.terminals) tree.rollouts.push_back({node, std::move(state), value});
  } else {
    tree[node].evaluated = true;
    enter(result);
  }
}

}  // namespace espalier::detail
