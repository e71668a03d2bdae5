#pragma once

#include <espalier/policy/dedup.hpp>
#include <espalier/search/mcts_growth.hpp>
#include <espalier/search/mcts_watch.hpp>

#include <deque>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Parallel simulations in one tree: selections in index order; simulation j is selected when exactly the simulations
/// 0 ... j - window are merged. All changes of the tree are made by one coroutine, at points that depend on indices alone;
/// the tasks of the simulations only fetch.
template <class Engine, class Env>
class SlidingWindow {
 public:
  using Tree = typename Engine::template TreeOf<Env>;

  /// After an error no simulation is started, but those under way are waited for: nothing that was paid for is lost.
  static Task<Tree> grow(Engine* engine, Env* env, Tree tree) {
    SlidingWindow window(engine, env, &tree);
    const Place top = root_of(tree.seed);
    std::exception_ptr error{};
    try {
      for (std::uint32_t j = 0; j < engine->options_.simulations; ++j) {
        if (j >= engine->options_.window) co_await window.land();
        if (window.watch_.over(tree)) break;
        ++tree.steps;
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
    Ledger ledger{};       ///< what it costs, until it is merged
    bool growing = false;  ///< children of `place` are on their way
    bool again = false;    ///< values `place` once more, whose children an earlier simulation fetches
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

  SlidingWindow(Engine* engine, Env* env, Tree* tree)
      : engine_(engine), env_(env), tree_(tree), watch_(engine->options_, engine->stop_, *tree) {}
  static Place root_of(Seed seed) { return {0, seed, 0}; }

  /// Selects for one simulation and starts what it needs.
  Task<void> launch(Flight* flight, Place from) {
    const bool waits = engine_->options_.collision == MctsOptions::Collision::wait;
    Place place = descend(from);
    while ((*tree_)[place.node].status == Status::growing && waits) {
      co_await settle(grower_of(place.node));
      place = descend(place);
    }
    flight->place = place;
    const auto& node = (*tree_)[place.node];
    const bool valued = node.status == Status::terminal && node.pending > 0;  // by an earlier simulation
    hold(place.node, 1);
    if (node.status == Status::growing) evaluate_again(flight);
    else if (node.status == Status::open) begin_growth(flight);
    else if (engine_->needs_value(*tree_, place.node) && !valued) flight->leaf.emplace(tree_->state(place.node), place.seed);
    else co_return;
    flight->done = Event();
    flight->tasks.push_back(work(flight));
    start(flight->tasks.back());
  }
  Place descend(const Place& from) { return detail::descend<true>(engine_->options_, engine_->select_, *env_, *tree_, from); }

  void evaluate_again(Flight* flight) {
    flight->again = true;
    flight->leaf.emplace(tree_->state(flight->place.node), flight->place.seed.purpose("again").child(tree_->steps));
  }

  void begin_growth(Flight* flight) {
    flight->asks.clear();
    flight->contexts.clear();
    flight->state = tree_->state(flight->place.node);
    for_each_ask(engine_->options_, *env_, *tree_, flight->place, &flight->ledger, [&](Kind kind, std::uint32_t n, const Context& context) {
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
    const Prior& prior = engine_->options_.prior;
    const std::uint32_t samples = prior.as_proposed() ? 1 : samples_of(engine_->options_, env_->kinds(flight->state));
    for (auto& proposal : proposals) proposal.prior = prior.weight(proposal, samples);
    flight->proposals = dedup(std::move(proposals));
    std::vector<Task<State>> steps;
    std::optional<std::pair<std::size_t, Seed>> first;
    for (const auto& proposal : flight->proposals) {
      const auto child = find(*tree_, flight->place.node, proposal);
      if (child.node != no_node) continue;
      const Seed seed = flight->place.seed.child(child.ordinal + steps.size());
      if (!first && proposal.closed == Reason::none) first.emplace(steps.size(), seed);
      const Context context(seed, 0, &flight->ledger);
      if (proposal.closed != Reason::none) steps.push_back(as_task(State(flight->state)));
      else steps.push_back(as_task(step(*env_, flight->state, proposal.action, context)));
    }
    flight->states = co_await gather(std::move(steps));
    if (first) flight->leaf.emplace(flight->states[first->first], first->second);
  }

  Task<void> value(Flight* flight) {
    const Context context(flight->leaf->second, 0, &flight->ledger);
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
      auto child = find(*tree_, parent.node, proposal);
      if (child.node != no_node) {
        (*tree_)[child.node].prior += proposal.prior;
        continue;
      }
      const bool closed = proposal.closed != Reason::none;
      const float weight = proposal.prior;
      child.node = add(engine_->options_.prior, *tree_, parent.node, std::move(proposal), weight, std::move(*state++));
      if (flight->place.node == parent.node && !closed) flight->place = below(parent, child);
    }
    engine_->options_.prior.share(*tree_, parent.node);
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
    tree_->ledger += flight->ledger;
    if (flight->again) enter_more(flight);
    else if (flight->result && !(*tree_)[node].evaluated) enter(flight);
    else engine_->enter_again(*tree_, node);
    watch_.merged(*env_, *tree_, flight->place);
    flights_.pop_front();
  }
  void enter(Flight* flight) {
    const auto value = [&] { enter_evaluation(*tree_, flight->place.node, std::move(*flight->result), engine_->back_, engine_->options_.range); };
    if constexpr (requires { flight->result->paths; }) {
      auto paths = std::move(flight->result->paths);
      value();
      graft(engine_->options_, *env_, *tree_, flight->place, paths);
    } else {
      value();
    }
  }
  /// Enters one more value of a node, unless the node was closed or the value is not known.
  void enter_more(Flight* flight) {
    if constexpr (requires { flight->result->known; })
      if (!flight->result->known) return;
    if ((*tree_)[flight->place.node].status != Status::pruned) enter(flight);
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
  Watch<typename Engine::StopRuleType> watch_;
  std::deque<Flight> flights_{};
};

}  // namespace espalier::detail
