#pragma once

#include <espalier/policy/dedup.hpp>
#include <espalier/search/rollout.hpp>

#include <deque>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace espalier::detail {

/// A node reached by a descent.
struct Place {
  NodeId node = 0;
  Seed seed{};
  std::uint32_t depth = 0;
};

/// Parallel simulations in one tree: selections in index order; simulation j is selected when exactly the simulations
/// 0 ... j - window are merged. All changes of the tree are made by one coroutine, at points that depend on indices alone;
/// the tasks of the simulations only fetch.
template <class Engine, class Env>
class SlidingWindow {
 public:
  using Tree = typename Engine::template TreeOf<Env>;

  /// After an error no simulation is started, but those under way are waited for: nothing that was paid for is lost.
  static Task<Tree> grow(Engine* engine, Env* env, typename Env::State root, Seed seed) {
    Tree tree(std::move(root), seed);
    SlidingWindow window(engine, env, &tree);
    const Place top = root_of(seed);
    std::exception_ptr error{};
    try {
      for (std::uint32_t j = 0; j < engine->options_.simulations; ++j) {
        if (j >= engine->options_.window) co_await window.land();
        window.flights_.emplace_back();
        co_await window.launch(&window.flights_.back(), top);
      }
      while (!window.flights_.empty()) co_await window.land();
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

  /// A simulation under way. Its tasks look at copies, because the tree moves its states as it grows.
  struct Flight {
    Flight() { done.happen(); }
    Place place{};
    bool growing = false;  ///< children of `place` are on their way
    Status after{};        ///< what `place` will be then
    State state{};         ///< of `place`, while it grows
    std::vector<std::pair<Kind, std::uint32_t>> asks{};
    std::vector<Context> contexts{};
    std::vector<Proposal<Action>> proposals{};
    std::vector<State> states{};  ///< of the proposals that are new, in order
    std::optional<std::pair<State, Seed>> leaf{};  ///< what is to be evaluated
    std::optional<Result> result{};
    std::exception_ptr growth_error{}, error{};
    Event grown{}, done{};
    std::vector<Task<void>> tasks{};
  };

  SlidingWindow(Engine* engine, Env* env, Tree* tree) : engine_(engine), env_(env), tree_(tree) {}
  static Place root_of(Seed seed) { return {0, seed, 0}; }

  /// Selects for one simulation and starts what it needs.
  Task<void> launch(Flight* flight, Place from) {
    Place place = engine_->descend(*env_, *tree_, from);
    while ((*tree_)[place.node].status == Status::growing) {
      co_await settle(grower_of(place.node));
      place = engine_->descend(*env_, *tree_, place);
    }
    flight->place = place;
    hold(place.node, 1);
    const auto& node = (*tree_)[place.node];
    if (node.status == Status::open) begin_growth(flight);
    else if (!node.evaluated) flight->leaf.emplace(tree_->state(place.node), place.seed);
    else co_return;
    flight->done = Event();
    flight->tasks.push_back(work(flight));
    start(flight->tasks.back());
  }

  void begin_growth(Flight* flight) {
    flight->asks.clear();
    flight->contexts.clear();
    flight->state = tree_->state(flight->place.node);
    engine_->for_each_ask(*env_, *tree_, flight->place, [&](Kind kind, std::uint32_t n, const Context& context) {
      flight->asks.emplace_back(kind, n);
      flight->contexts.push_back(context);
    });
    flight->after = std::exchange((*tree_)[flight->place.node].status, Status::growing);
    flight->growing = true;
    flight->grown = Event();
  }

  /// Fetches all that a simulation needs. Errors wait until it is the simulation's turn.
  Task<void> work(Flight* flight) {
    try {
      if (flight->growing) co_await fetch(flight);
    } catch (...) {
      flight->growth_error = std::current_exception();
    }
    flight->grown.happen();
    try {
      if (flight->leaf) co_await value(flight);
    } catch (...) {
      flight->error = std::current_exception();
    }
    flight->done.happen();
  }

  /// Fetches children, of which the first new one that lives is to be evaluated.
  Task<void> fetch(Flight* flight) {
    std::vector<Task<proposals_t<Env>>> asked;
    for (std::size_t i = 0; i < flight->asks.size(); ++i)
      asked.push_back(as_task(propose(*env_, flight->state, flight->asks[i].first, flight->asks[i].second, flight->contexts[i])));
    auto drawn = co_await gather(std::move(asked));
    std::vector<Proposal<Action>> proposals;
    for (auto& some : drawn) append(proposals, std::move(some));
    flight->proposals = dedup(std::move(proposals));
    std::vector<Task<State>> steps;
    std::optional<std::pair<std::size_t, Seed>> first;
    for (const auto& proposal : flight->proposals) {
      const auto child = engine_->find(*tree_, flight->place.node, proposal);
      if (child.node != no_node) continue;
      const Seed seed = flight->place.seed.child(child.ordinal + steps.size());
      if (!first && proposal.closed == Reason::none) first.emplace(steps.size(), seed);
      const Context context(seed, 0, &tree_->ledger);
      if (proposal.closed != Reason::none) steps.push_back(as_task(State(flight->state)));
      else steps.push_back(as_task(step(*env_, flight->state, proposal.action, context)));
    }
    flight->states = co_await gather(std::move(steps));
    if (first) flight->leaf.emplace(flight->states[first->first], first->second);
  }

  Task<void> value(Flight* flight) {
    const Context context(flight->leaf->second, 0, &tree_->ledger);
    auto evaluation = as_task(evaluate(engine_->evaluate_, *env_, std::as_const(flight->leaf->first), context));
    flight->result.emplace(co_await std::move(evaluation));
  }

  /// Attaches the children that a simulation has fetched. If none of them is new, the simulation selects on.
  Task<void> settle(Flight* flight) {
    co_await flight->grown;
    if (flight->growth_error) std::rethrow_exception(flight->growth_error);
    flight->growing = false;
    const Place parent = flight->place;
    auto& above = (*tree_)[parent.node];
    if (above.status == Status::growing) above.status = flight->after;  // not if it was closed meanwhile
    auto state = flight->states.begin();
    for (auto& proposal : flight->proposals) {
      auto child = engine_->find(*tree_, parent.node, proposal);
      if (child.node != no_node) {
        (*tree_)[child.node].prior += proposal.prior;
        continue;
      }
      const bool closed = proposal.closed != Reason::none;
      child.node = engine_->add(*tree_, parent.node, std::move(proposal), std::move(*state++));
      if (flight->place.node == parent.node && !closed) flight->place = engine_->below(parent, child);
    }
    if (flight->place.node != parent.node) {
      ++(*tree_)[flight->place.node].pending;
    } else {
      hold(parent.node, -1);
      co_await launch(flight, parent);
    }
  }

  /// Merges the oldest simulation.
  Task<void> land() {
    Flight* flight = &flights_.front();
    while (flight->growing) co_await settle(flight);
    co_await flight->done;
    if (flight->error) std::rethrow_exception(flight->error);
    const NodeId node = flight->place.node;
    hold(node, -1);
    if (flight->result && !(*tree_)[node].evaluated) enter_evaluation(*tree_, node, std::move(*flight->result), engine_->back_);
    else engine_->enter_again(*tree_, node);
    flights_.pop_front();
  }

  /// Counts a simulation in or out on the way from the root to a node (virtual loss).
  void hold(NodeId node, int by) {
    for (; node != no_node; node = (*tree_)[node].parent)
      (*tree_)[node].pending = static_cast<std::uint16_t>((*tree_)[node].pending + by);
  }
  Flight* grower_of(NodeId node) {
    for (auto& flight : flights_)
      if (flight.growing && flight.place.node == node) return &flight;
    throw Error("a node grows, but no simulation grows it");
  }

  Engine* engine_;
  Env* env_;
  Tree* tree_;
  std::deque<Flight> flights_;
};

}  // namespace espalier::detail
