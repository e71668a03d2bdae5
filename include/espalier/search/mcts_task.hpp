#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/children.hpp>
#include <espalier/search/detail/evaluation.hpp>
#include <espalier/search/detail/flight.hpp>
#include <espalier/search/detail/mcts_descent.hpp>
#include <espalier/search/detail/mcts_growth.hpp>
#include <espalier/search/mcts.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

/// Mcts as a task. Include it where an engine is called by engine(env, root, seed).
namespace espalier::detail {

/// Parallel simulations in one tree. Selections are made in index order: simulation j is selected when the simulations
/// 0 ... j - window are merged, and with `solve` as many more as it takes to find what is not under way. One coroutine
/// makes all changes of the tree, at points that depend on indices alone. The tasks of the simulations only fetch.
template <class Engine, class Env>
class SlidingWindow {
 public:
  using Tree = typename Engine::template TreeOf<Env>;

  /// After an error no simulation is started, but those under way are finished, so that nothing paid for is lost.
  static Task<Tree> grow(Engine* engine, Env* env, Tree tree) {
    SlidingWindow window(engine, env, &tree);
    const Place top{tree.root(), tree.seed, 0};
    std::exception_ptr error{};
    engine->end_branch(tree, tree.root(), window.watch_);
    try {
      for (std::uint32_t j = 0; j < engine->options_.simulations; ++j) {
        if (window.flights_.size() >= engine->options_.window) co_await window.land();
        if (window.watch_.over(tree)) break;
        ++tree.steps;
        window.flights_.emplace_back();
        bool busy = co_await window.launch(&window.flights_.back(), top);
        while (!busy && engine->options_.solve && window.flights_.size() > 1) {
          window.hold(window.flights_.back().place.node, -1);
          co_await window.land();
          busy = co_await window.launch(&window.flights_.back(), top);
        }
      }
      while (!window.flights_.empty()) co_await window.land();
      Budget::end(tree);
    } catch (...) {
      error = std::current_exception();
    }
    for (Flight& flight : window.flights_) co_await flight.done;
    if (error) std::rethrow_exception(error);
    co_return tree;
  }

 private:
  using State = typename Env::State;
  using Action = typename Env::Action;
  using Result = evaluation_t<typename Engine::Evaluator, Env>;
  using Flight = detail::Flight<Env, Result>;

  SlidingWindow(Engine* engine, Env* env, Tree* tree)
      : engine_(engine), env_(env), tree_(tree), watch_(engine->options_, engine->stop_, *tree) {}

  /// Selects for one simulation and starts the task that fetches what it needs. False if it needs nothing.
  Task<bool> launch(Flight* flight, Place from) {
    const bool waits = engine_->options_.collision == MctsOptions::Collision::wait;
    Place place = descend(from);
    while ((*tree_)[place.node].status == Status::growing && waits) {
      co_await settle(grower_of(place.node));
      place = descend(place);
    }
    flight->place = place;
    const auto& node = (*tree_)[place.node];
    const bool valued = node.status == Status::terminal && node.pending > 0;  // by an earlier simulation
    const bool value_first = detail::value_first(engine_->options_, *tree_, place);
    hold(place.node, 1);
    if (engine_->options_.budget.limited()) flight->ledger.follow(tree_->ledger);
    flight->again = node.status == Status::growing;
    if (flight->again)
      flight->leaves.emplace_back(tree_->state(place.node), place.seed.purpose("again").child(tree_->steps));
    else if (node.status == Status::open && !value_first) begin_growth(flight);
    else if (engine_->needs_value(*tree_, place.node) && !valued)
      flight->leaves.emplace_back(tree_->state(place.node), place.seed);
    else co_return false;
    flight->done = Event();
    flight->tasks.push_back(work(flight));
    start(flight->tasks.back());
    co_return true;
  }
  Place descend(const Place& from) {
    return detail::descend<true>(engine_->options_, engine_->select_, *env_, *tree_, from);
  }

  void begin_growth(Flight* flight) {
    flight->asks.clear();
    flight->state = tree_->state(flight->place.node);
    for_each_ask(
        engine_->options_, *env_, *tree_, flight->place, &flight->ledger,
        [&](Kind kind, std::uint32_t n, const Context& context) { flight->asks.emplace_back(kind, n, context); });
    flight->after = std::exchange((*tree_)[flight->place.node].status, Status::growing);
    flight->growing = true;
    flight->grown = Event();
  }

  /// Fetches everything that a simulation needs. Errors are kept until its turn to merge.
  Task<void> work(Flight* flight) {
    try {
      if (flight->growing) co_await fetch(flight);
    } catch (...) {
      flight->growth_error = std::current_exception();
    }
    flight->grown.happen();
    try {
      co_await value(flight);
    } catch (...) {
      flight->error = std::current_exception();
    }
    flight->done.happen();
  }

  /// Fetches children. Of the new ones that are not malformed, the first or all will be evaluated.
  Task<void> fetch(Flight* flight) {
    std::vector<Task<proposals_t<Env>>> asked;
    for (const auto& [kind, n, context] : flight->asks)
      asked.push_back(as_task(propose(*env_, flight->state, kind, n, context)));
    auto drawn = co_await gather(std::move(asked));
    std::vector<Proposal<Action>> proposals;
    for (auto& some : drawn) append(proposals, std::move(some));
    const Prior& prior = engine_->options_.prior;
    const std::uint32_t samples = prior.as_proposed() ? 1 : samples_of(engine_->options_, env_->kinds(flight->state));
    for (auto& proposal : proposals) proposal.prior = prior.weight(proposal, samples);
    flight->proposals = dedup(std::move(proposals));
    std::vector<Task<State>> steps;
    std::vector<std::pair<std::size_t, Seed>> leaves;
    Valued valued(engine_->options_);
    for (const auto& proposal : flight->proposals) {
      const auto child = find(*tree_, flight->place.node, proposal);
      if (child.node != no_node) continue;
      const Seed seed = flight->place.seed.child(child.ordinal + steps.size());
      if (valued(proposal)) leaves.emplace_back(steps.size(), seed);
      const Context context(seed, 0, &flight->ledger);
      steps.push_back(step_or_stay(*env_, flight->state, proposal, context));
    }
    flight->states = co_await gather(std::move(steps));
    for (const auto& [state, seed] : leaves) flight->leaves.emplace_back(flight->states[state], seed);
  }

  Task<void> value(Flight* flight) {
    std::vector<Task<Result>> tasks;
    for (const auto& [state, seed] : flight->leaves) {
      const Context context(seed, 0, &flight->ledger);
      tasks.push_back(as_task(evaluate(engine_->evaluate_, *env_, state, context)));
      if (!in_turn(engine_->evaluate_)) continue;
      flight->results.push_back(co_await std::move(tasks.back()));
      tasks.pop_back();
    }
    if (!tasks.empty()) flight->results = co_await gather(std::move(tasks));
  }

  /// Adds the fetched children to the tree. If none of them is new, the simulation selects again from this node.
  Task<void> settle(Flight* flight) {
    co_await flight->grown;
    if (flight->growth_error) std::rethrow_exception(flight->growth_error);
    flight->growing = false;
    const Place parent = flight->place;
    auto& above = (*tree_)[parent.node];
    if (above.status == Status::growing) above.status = flight->after;  // not if it was pruned in the meantime
    auto state = flight->states.begin();
    Valued valued(engine_->options_);
    for (auto& proposal : flight->proposals) {
      auto child = find(*tree_, parent.node, proposal);
      if (child.node != no_node) {
        (*tree_)[child.node].prior += proposal.prior;
        continue;
      }
      const bool own = valued(proposal);
      const float weight = proposal.prior;
      child.node = add(engine_->options_.prior, *tree_, parent.node, std::move(proposal), weight, std::move(*state++));
      if (!own) continue;
      flight->fresh.push_back(below(parent, child));
      ++(*tree_)[child.node].pending;
    }
    engine_->options_.prior.share(*tree_, parent.node);
    if (!flight->fresh.empty()) co_return;
    engine_->end_branch(*tree_, parent.node, watch_);
    hold(parent.node, -1);
    co_await launch(flight, parent);
  }

  /// Merges the oldest simulation.
  Task<void> land() {
    Flight* flight = &flights_.front();
    while (flight->growing) co_await settle(flight);
    co_await flight->done;
    if (flight->error) std::rethrow_exception(flight->error);
    hold(flight->place.node, -1);
    for (const Place& child : flight->fresh) --(*tree_)[child.node].pending;
    if (flight->fresh.empty()) flight->fresh.push_back(flight->place);
    tree_->ledger += flight->ledger;
    for (std::size_t i = 0; i < flight->fresh.size(); ++i) {
      const Place end = flight->fresh[i];
      const bool valued = i < flight->results.size() && (flight->again || !(*tree_)[end.node].evaluated);
      if (valued) record(end, flight->results[i], flight->again);
      else engine_->enter_again(*env_, *tree_, end.node);
      prune_beside(end.node);
      watch_.merged(*env_, *tree_, end);
    }
    flights_.pop_front();
  }
  /// Enters a node's value. One more value of it counts only if it is known and the node was not pruned.
  void record(const Place& end, Result& result, bool again) {
    if (again && (*tree_)[end.node].status == Status::pruned) return;
    if constexpr (requires { result.known; })
      if (again && !result.known) return;
    engine_->enter(*env_, *tree_, end, result);
  }
  /// Asks the policy. Children of the same parent that are being fetched are its last ones where enough is known.
  void prune_beside(NodeId node) {
    if (!engine_->prune_beside(*env_, *tree_, node, watch_)) return;
    const NodeId parent = (*tree_)[node].parent;
    if ((*tree_)[parent].status == Status::growing) grower_of(parent)->after = Status::expanded;
  }
  /// Adds `by` to the simulations under way at a node and all its ancestors.
  void hold(NodeId node, int by) {
    for (; node != no_node; node = (*tree_)[node].parent)
      (*tree_)[node].pending = static_cast<std::uint16_t>((*tree_)[node].pending + by);
  }
  Flight* grower_of(NodeId node) {
    for (auto& flight : flights_)
      if (flight.growing && flight.place.node == node) return &flight;
    throw Error("a node is marked as growing, but no simulation under way grows it");
  }

  Engine* engine_;
  Env* env_;
  Tree* tree_;
  SearchEnd<typename Engine::StopRuleType> watch_;
  std::deque<Flight> flights_{};
};

}  // namespace espalier::detail
