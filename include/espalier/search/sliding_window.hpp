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

  static Task<Tree> grow(Engine* engine, Env* env, typename Env::State root, Seed seed) {
    Tree tree(std::move(root), seed);
    SlidingWindow window(engine, env, &tree);
    const Place top = root_of(seed);
    for (std::uint32_t j = 0; j < engine->options_.simulations && !window.error_; ++j) {
      if (j >= engine->options_.window) co_await window.land();
      window.flights_.emplace_back();
      co_await window.launch(&window.flights_.back(), top);
    }
    while (!window.flights_.empty()) co_await window.land();
    if (window.error_) std::rethrow_exception(window.error_);
    co_return tree;
  }

 private:
  using State = typename Env::State;
  using Action = typename Env::Action;
  using Result = evaluation_t<typename Engine::Evaluator, Env>;

  /// A simulation under way. Tasks look at copies, because the tree moves its states as it grows.
  struct Flight {
    Place place{};
    State state{};
    bool growing = false;  ///< children of `place` are on their way
    Status after{};        ///< what `place` will be then
    std::vector<std::pair<Kind, std::uint32_t>> asks{};
    std::vector<Context> contexts{};
    std::vector<Proposal<Action>> proposals{};
    std::vector<State> states{};  ///< of the proposals that are new, in order
    std::optional<Result> result{};
    std::exception_ptr error{};
    Event grown{}, done{};
    std::vector<Task<void>> tasks{};
  };

  SlidingWindow(Engine* engine, Env* env, Tree* tree) : engine_(engine), env_(env), tree_(tree) {}
  static Place root_of(Seed seed) { return {0, seed, 0}; }

  /// Selects for one simulation and starts what it needs.
  Task<void> launch(Flight* flight, Place from) {
    flight->place = engine_->descend(*env_, *tree_, from);
    while ((*tree_)[flight->place.node].status == Status::growing && !error_) {
      co_await settle(grower_of(flight->place.node));
      flight->place = engine_->descend(*env_, *tree_, flight->place);
    }
    hold(flight->place.node, 1);
    const Node<typename Tree::Value>& node = (*tree_)[flight->place.node];
    if (error_ || (node.evaluated && node.status != Status::open)) {
      flight->done.happen();
      co_return;
    }
    flight->state = tree_->state(flight->place.node);
    if (node.status == Status::open) begin_growth(flight);
    else flight->tasks.push_back(evaluate_at(flight, flight->state, flight->place.seed));
    start(flight->tasks.back());
  }

  void begin_growth(Flight* flight) {
    flight->asks.clear();
    flight->contexts.clear();
    engine_->for_each_ask(*env_, *tree_, flight->place, [&](Kind kind, std::uint32_t n, const Context& context) {
      flight->asks.emplace_back(kind, n);
      flight->contexts.push_back(context);
    });
    flight->after = std::exchange((*tree_)[flight->place.node].status, Status::growing);
    flight->growing = true;
    flight->grown = Event();
    flight->tasks.push_back(fetch(flight));
  }

  /// Fetches children; evaluates the first new one.
  Task<void> fetch(Flight* flight) {
    try {
      std::vector<Task<std::vector<Proposal<Action>>>> asked;
      for (std::size_t i = 0; i < flight->asks.size(); ++i)
        asked.push_back(as_task(propose(*env_, flight->state, flight->asks[i].first, flight->asks[i].second, flight->contexts[i])));
      std::vector<std::vector<Proposal<Action>>> drawn = co_await gather(std::move(asked));
      std::vector<Proposal<Action>> proposals;
      for (auto& some : drawn) proposals.insert(proposals.end(), some.begin(), some.end());
      flight->proposals = dedup(std::move(proposals));
      std::uint64_t ordinal = tree_->children(flight->place.node).size();
      std::vector<Task<State>> steps;
      std::optional<std::pair<std::size_t, Seed>> first;
      for (const auto& proposal : flight->proposals) {
        if (engine_->twin(*tree_, flight->place.node, proposal) != no_node) continue;
        const Seed seed = flight->place.seed.child(ordinal++);
        if (!first && proposal.closed == Reason::none) first.emplace(steps.size(), seed);
        const Context context(seed, 0, &tree_->ledger);
        if (proposal.closed != Reason::none) steps.push_back(as_task(State(flight->state)));
        else steps.push_back(as_task(step(*env_, flight->state, proposal.action, context)));
      }
      flight->states = co_await gather(std::move(steps));
      flight->grown.happen();
      if (first) co_await evaluate_at(flight, flight->states[first->first], first->second);
    } catch (...) {
      fail(flight);
    }
  }

  Task<void> evaluate_at(Flight* flight, State state, Seed seed) {
    try {
      const Context context(seed, 0, &tree_->ledger);
      auto evaluation = as_task(evaluate(engine_->evaluate_, *env_, state, context));
      flight->result.emplace(co_await std::move(evaluation));
      flight->done.happen();
    } catch (...) {
      fail(flight);
    }
  }

  static void fail(Flight* flight) {
    flight->error = std::current_exception();
    flight->grown.happen();
    flight->done.happen();
  }

  /// Attaches the children that a simulation has fetched. If none of them is new, the simulation selects on.
  Task<void> settle(Flight* flight) {
    co_await flight->grown;
    if (flight->error) {
      error_ = flight->error;
      co_return;
    }
    flight->growing = false;
    const NodeId parent = flight->place.node;
    (*tree_)[parent].status = flight->after;
    NodeId child = no_node;
    auto state = flight->states.begin();
    for (auto& proposal : flight->proposals) {
      if (engine_->merged(*tree_, parent, proposal)) continue;
      const NodeId added = engine_->add(*tree_, parent, std::move(proposal), std::move(*state++));
      if (child == no_node && (*tree_)[added].status != Status::pruned) child = added;
    }
    if (child != no_node) {
      flight->place = engine_->below(*tree_, flight->place, child);
      ++(*tree_)[child].pending;
    } else {
      hold(parent, -1);
      co_await launch(flight, flight->place);
    }
  }

  /// Merges the oldest simulation.
  Task<void> land() {
    Flight* flight = &flights_.front();
    while (flight->growing && !flight->error && !error_) co_await settle(flight);
    co_await flight->done;
    hold(flight->place.node, -1);
    if (flight->error && !error_) error_ = flight->error;
    if (!error_) {
      const NodeId node = flight->place.node;
      if (flight->result && !(*tree_)[node].evaluated) enter_evaluation(*tree_, node, std::move(*flight->result), engine_->back_);
      else engine_->back_(*tree_, node, (*tree_)[node].mean());
    }
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
  std::exception_ptr error_{};
};

}  // namespace espalier::detail
