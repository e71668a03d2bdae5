#pragma once

#include <espalier/core/context.hpp>
#include <espalier/core/detail/awaited.hpp>
#include <espalier/core/tree.hpp>

#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

/// The concepts of search problems and policies. Wherever a result type is named, a `Task` of it is accepted too.
/// Engines await tasks, and run as a plain loop where there are none. A last argument Context may be left out.
namespace espalier {

/// A possible next action with its share of the policy.
template <class Action>
class Proposal {
 public:
  Proposal(Action action, Kind kind, float prior = 1, Reason closed = Reason::none)
      : action(std::move(action)), kind(kind), prior(detail::known_prior(prior)), closed(closed) {}
  Action action;
  Kind kind;      ///< may differ from the requested kind (a decision yields answers and questions)
  float prior;    ///< share of the samples or of the policy, [0, 1]
  Reason closed;  ///< not none: the branch is recorded but pruned at once (malformed text, refusal)
};

namespace detail {

// A user's function may take a context. The types are written out: to deduce one, compilers generate the function.
template <class Env>
auto propose(Env& env, const typename Env::State& s, Kind kind, std::uint32_t n, const Context& context)
    -> decltype(env.propose(s, kind, n, context)) {
  return env.propose(s, kind, n, context);
}
template <class Env>
auto propose(Env& env, const typename Env::State& s, Kind kind, std::uint32_t n, const Context& context)
    -> decltype(env.propose(s, kind, n))
  requires(!requires { env.propose(s, kind, n, context); })
{
  using Range = decltype(env.propose(s, kind, n));
  if constexpr (std::movable<Range> && requires(Range all) { all.erase(all.begin(), all.end()); }) {
    Range all = env.propose(s, kind, context.first + n);  // the environment does not know which came before
    all.erase(all.begin(), std::ranges::next(all.begin(), context.first, all.end()));
    return all;
  } else return env.propose(s, kind, n);
}
template <class Env>
auto step(Env& env, const typename Env::State& s, const typename Env::Action& a, const Context& context)
    -> decltype(env.step(s, a, context)) {
  return env.step(s, a, context);
}
template <class Env>
auto step(Env& env, const typename Env::State& s, const typename Env::Action& a, const Context& context)
    -> decltype(env.step(s, a))
  requires(!requires { env.step(s, a, context); })
{
  return env.step(s, a);
}
template <class E, class Env>
auto evaluate(E& e, Env& env, const typename Env::State& s, const Context& context) -> decltype(e(env, s, context)) {
  return e(env, s, context);
}
template <class E, class Env>
auto evaluate(E& e, Env& env, const typename Env::State& s, const Context& context) -> decltype(e(env, s))
  requires(!requires { e(env, s, context); })
{
  return e(env, s);
}

/// The range of proposals that an environment gives.
template <class Env>
using proposals_t = awaited_t<decltype(propose(std::declval<Env&>(), std::declval<const typename Env::State&>(),
                                               Kind(0), std::uint32_t(1), std::declval<const Context&>()))>;

template <class E>
concept HasTypes = requires {
  requires std::copyable<typename E::State>;
  requires std::copyable<typename E::Action> && std::equality_comparable<typename E::Action> &&
               std::default_initializable<typename E::Action>;
};
template <class R>
using element_t = std::iter_reference_t<decltype(std::ranges::begin(std::declval<R&>()))>;
template <class E>
concept HasKinds = requires(E& env, const typename E::State& s) {
  requires std::convertible_to<element_t<decltype(env.kinds(s))>, Kind>;
};
template <class E>
concept HasPropose = std::convertible_to<element_t<proposals_t<E>>, Proposal<typename E::Action>>;
template <class E>
concept HasStep = requires(E& env, const typename E::State& s, const typename E::Action& a, const Context& context) {
  requires std::convertible_to<awaited_t<decltype(step(env, s, a, context))>, typename E::State>;
};

}  // namespace detail

/// kinds(s): legal kinds in order, empty = terminal. propose(s, kind, n): the first n. step(s, a): next state.
template <class E>
concept Environment = detail::HasTypes<E> && detail::HasKinds<E> && detail::HasPropose<E> && detail::HasStep<E>;

namespace detail {

/// True if no function of the environment awaits anything. The search can then be a plain loop.
template <class E>
concept PlainEnvironment =
    Environment<E> && requires(E& env, const typename E::State& s, const typename E::Action& a, const Context& c) {
      requires !is_task_v<decltype(propose(env, s, Kind(0), std::uint32_t(1), c))>;
      requires !is_task_v<decltype(step(env, s, a, c))>;
    };

/// The same for the evaluator too.
template <class E, class Env>
concept PlainEvaluator =
    PlainEnvironment<Env> && requires(E& e, Env& env, const typename Env::State& s, const Context& context) {
      requires !is_task_v<decltype(evaluate(e, env, s, context))>;
    };

/// A value that the engines can average: a double, or a small struct with +=, * and utility().
template <class V>
concept SearchValue = std::copyable<V> && std::default_initializable<V> && requires(V a, V b) {
  a += b;
  { b * 0.5 } -> std::convertible_to<V>;
  { utility(a) } -> std::convertible_to<double>;
};

/// r.group(ends) -> their values, or a Task of them: a reward that judges the ends of one place together.
template <class R, class State>
concept GroupReward = requires(const R& r, std::span<const State> ends) {
  requires std::same_as<awaited_t<decltype(r.group(ends))>, std::vector<double>>;
};

}  // namespace detail

/// What an evaluator with rollouts returns besides the value: the terminal states it reached.
template <class State, class Value>
class Evaluation {
 public:
  explicit Evaluation(Value value) : value(std::move(value)) {}
  Value value;
  bool known = true;  ///< false: no rollout could be read. The node is then pruned as malformed
  std::vector<std::pair<State, Value>> terminals{};
};

/// e(env, s) -> value or Evaluation.
template <class E, class Env>
concept Evaluator = requires(E& e, Env& env, const typename Env::State& s, const Context& context) {
  detail::evaluate(e, env, s, context);
};

/// r(terminal) -> value in the declared range. A pure function that may see gold.
template <class R, class State>
concept RewardFunction = requires(const R& r, const State& s) {
  { r(s) } -> detail::SearchValue;
};

/// p(parent, child) -> score, the highest wins. Or p.at(tree, parent id) -> f(child id) -> score, to see siblings.
template <class P, class Value = double>
concept SelectionPolicy = requires(const P& p, const Node<Value>& n) {
  { p(n, n) } -> std::convertible_to<double>;
} || requires(const P& p, const Tree<int, int, Value>& tree) {
  { p.at(tree, NodeId())(NodeId()) } -> std::convertible_to<double>;
};

/// What a pruning policy decides about some siblings.
struct Verdict {
  std::vector<std::pair<NodeId, Reason>> cut;  ///< siblings to prune, with the reasons
  bool enough = false;                         ///< true: kinds that are not grown yet are skipped
};

namespace detail {

template <class P, class Tree>
using before_t = decltype(std::declval<const P&>().before(std::declval<const Tree&>(), std::span<const NodeId>()));
template <class P, class Tree>
using keep_t = decltype(std::declval<const P&>().keep(std::declval<const Tree&>(), std::span<const NodeId>()));
template <class P, class Tree>
concept PrunesBefore = std::convertible_to<before_t<P, Tree>, Verdict>;
template <class P, class Tree>
concept PrunesWhenDone = std::convertible_to<keep_t<P, Tree>, Verdict>;
template <class P, class Tree>
concept PrunesAtValues = requires(const P& p, const Tree& tree, std::span<const NodeId> siblings) {
  { p(tree, siblings) } -> std::convertible_to<Verdict>;
};
template <class Tree, class P>
concept SeenBy = PrunesAtValues<P, Tree>;
/// A policy with a `before` or a `keep` that gives no verdict.
template <class P, class Tree>
concept Misprunes = (requires { typename before_t<P, Tree>; } && !PrunesBefore<P, Tree>) ||
                    (requires { typename keep_t<P, Tree>; } && !PrunesWhenDone<P, Tree>);

}  // namespace detail

/// p(tree, siblings) -> verdict, asked when siblings have values. It may also, or instead, be asked by
/// p.before(tree, siblings) ahead of values, and by p.keep(tree, siblings) when a node is done. `siblings` are ids of
/// one parent's children that are not pruned, one or more, in order of creation. Each engine says when it asks.
template <class P, class Tree>
concept PruningPolicy =
    !detail::Misprunes<P, Tree> &&
    (detail::PrunesAtValues<P, Tree> || detail::PrunesBefore<P, Tree> || detail::PrunesWhenDone<P, Tree>);

/// b(tree, leaf, value): enters one value at a leaf and on the path to the root.
template <class B, class Tree>
concept Backup =
    requires(const B& b, Tree& tree, NodeId leaf, const typename Tree::Value& value) { b(tree, leaf, value); };

/// s(tree, node) -> whether to stop. Called after each simulation with the node it valued. Each tree has a copy of it.
template <class S, class Tree>
concept StopRule = std::copy_constructible<S> && requires(S& s, const Tree& tree) {
  { s(tree, NodeId()) } -> std::convertible_to<bool>;
};

}  // namespace espalier
