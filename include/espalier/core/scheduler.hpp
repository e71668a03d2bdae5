#pragma once

#include <espalier/core/batch_service.hpp>
#include <espalier/core/port.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace espalier {

/// Resumes every coroutine that can run until all wait for ports, then serves the ports. Asynchronous backends deliver
/// what has arrived. Synchronous ones answer all waiting requests in one call. The ports that come last are asked when
/// all others are idle, so that their batches are full. Runs in one thread. The order of completion never reaches a
/// tree, because a coroutine sees only its own answers.
class PortScheduler {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  /// Adds a backend for a request type of your own, such as a reward that is computed for many trees at once: a batch
  /// function (any callable) or a std::unique_ptr<Service>, which may be null: list requests with pending() then, and
  /// answer them with resume(). `max_in_flight`: requests under way at once, or the largest batch of a batch function.
  template <class In, class Out, class Backend>
  Port<In, Out> port(Backend backend, std::size_t max_in_flight = unlimited) {
    return add<In, Out>(std::move(backend), max_in_flight, first_);
  }
  /// The same for what comes last.
  template <class In, class Out, class Backend>
  Port<In, Out> last_port(Backend backend, std::size_t max_in_flight = unlimited) {
    return add<In, Out>(std::move(backend), max_in_flight, last_);
  }

  /// Sets what is called between steps and at least every 50 ms, for signals and progress. It may throw to end the run.
  void on_turn(std::function<void()> hook) { on_turn_ = std::move(hook); }

  /// Lets a coroutine run at the next step. The task must live until it has ended.
  template <class T>
  void start(const Task<T>& task) {
    agenda_.ready.push_back(task.handle());
  }

  /// Runs until every coroutine waits or has ended. True if requests are still under way at a backend.
  bool step() {
    advance();
    if (on_turn_) on_turn_();
    const bool arrived = collect_asynchronous(std::chrono::milliseconds(0));
    if (arrived) {  // servers get their next requests before a synchronous call takes its time
      advance();
      collect_asynchronous(std::chrono::milliseconds(0));
    }
    if (flush(first_) || arrived) return true;
    if (all_idle(first_) && flush(last_)) return true;
    return collect_asynchronous(std::chrono::milliseconds(50)) || !all_idle(first_) || !all_idle(last_);
  }

  /// Answers a request of a port without a backend.
  template <class In, class Out>
  void resume(const Port<In, Out>& port, Ticket ticket, Outcome<Out> outcome) {
    const detail::Running running(agenda_);
    port.state_->deliver(ticket, std::move(outcome));
  }

  /// Runs tasks side by side and returns their results in order. An error that is not a BackendError ends all of them.
  template <class T>
  std::vector<Outcome<T>> run_all(std::vector<Task<T>> tasks) {
    std::vector<Outcome<T>> results;
    while (results.size() < tasks.size()) results.push_back(std::exception_ptr());
    for_each(
        tasks.size(), unlimited, [&](std::size_t i) { return std::move(tasks[i]); },
        [&](std::size_t i, Outcome<T> outcome) { results[i] = std::move(outcome); });
    return results;
  }

  /// The same, but throws the first error by index.
  template <class T>
  std::vector<T> run(std::vector<Task<T>> tasks) {
    auto outcomes = run_all(std::move(tasks));
    std::vector<T> results;
    for (auto& outcome : outcomes) results.push_back(std::move(outcome).value());
    return results;
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<Outcome<T>> outcome;
    start(task);
    drive([&] {
      if (!outcome && task.done()) outcome.emplace(outcome_of(task));
      return outcome.has_value();
    });
    return std::move(*outcome).value();
  }

  /// Runs `count` tasks. make(i) starts one. done(i, outcome) gets its result as soon as it exists, in no defined
  /// order. Task i starts only when task i - open has ended, so at most `open` (> 0) are alive.
  void for_each(std::size_t count, std::size_t open, auto make, auto done) {
    using T = typename decltype(make(std::size_t{}))::value_type;
    std::vector<std::pair<std::size_t, Task<T>>> live;
    std::size_t next = 0;
    const auto refill = [&] {
      std::erase_if(live, [&](auto& entry) {
        if (!entry.second.done()) return false;
        done(entry.first, outcome_of(entry.second));
        return true;
      });
      for (const std::size_t oldest = live.empty() ? next : live.front().first; next < count && next - oldest < open;
           ++next) {
        live.emplace_back(next, make(next));
        start(live.back().second);
      }
      return live.empty();
    };
    drive(refill);
  }

 private:
  using Ports = std::vector<std::shared_ptr<detail::PortBase>>;

  template <class In, class Out, class Backend>
  Port<In, Out> add(Backend backend, std::size_t max_in_flight, Ports& group) {
    std::unique_ptr<Service<In, Out>> service;
    if constexpr (std::convertible_to<Backend, std::unique_ptr<Service<In, Out>>>) service = std::move(backend);
    else {
      constexpr bool fits = detail::BatchFunction<Backend, In, Out>;  // compilers would explain the concept at length
      static_assert(fits,
                    "a backend is a batch function f(span<const In>) -> vector<Out> or a unique_ptr to a Service");
      if constexpr (fits) service = std::make_unique<BatchService<In, Out, Backend>>(std::move(backend));
    }
    if (service && max_in_flight == 0) bad_option("max_in_flight", max_in_flight, "1 or more");
    auto state = std::make_shared<detail::PortState<In, Out>>(std::move(service), max_in_flight);
    group.push_back(state);
    return Port<In, Out>(std::move(state));
  }

  /// Steps until `finished()`. Throws Error if a search waits for something that nobody answers.
  void drive(auto finished) {
    try {
      while (!finished()) {
        if (step() || finished() || !agenda_.ready.empty()) continue;  // finished() may start more
        throw Error(
            "searches wait for requests that nobody answers: drive a port without a backend by step() and resume()");
      }
    } catch (...) {
      agenda_ = {};  // the coroutines die with their tasks
      throw;
    }
  }

  /// Runs what can run and submits its requests to asynchronous backends.
  void advance() {
    detail::drain(agenda_);
    for (auto* group : {&first_, &last_})
      for (auto& port : *group)
        if (!port->batch()) port->feed();
  }

  bool flush(Ports& group) {
    const detail::Running running(agenda_);
    bool any = false;
    for (auto& port : group) {
      if (!port->batch() || port->idle()) continue;
      port->feed();
      any = port->collect(std::chrono::milliseconds(0)) || any;
    }
    return any;
  }

  bool collect_asynchronous(std::chrono::milliseconds wait) {
    const detail::Running running(agenda_);
    std::vector<detail::PortBase*> busy;
    for (auto* group : {&first_, &last_})
      for (auto& port : *group)
        if (!port->batch() && !port->external() && !port->idle()) busy.push_back(port.get());
    const auto share = busy.size() > 1 ? std::min(wait, std::chrono::milliseconds(2)) : wait;
    bool any = false;
    for (auto* port : busy) any = port->collect(any ? std::chrono::milliseconds(0) : share) || any;
    return any;
  }

  [[nodiscard]] static bool all_idle(const Ports& group) {
    return std::all_of(group.begin(), group.end(), [](const auto& port) { return port->external() || port->idle(); });
  }

  template <class T>
  static Outcome<T> outcome_of(Task<T>& task) {
    try {
      return Outcome<T>(task.take());
    } catch (const BackendError&) {
      return Outcome<T>(std::current_exception());
    }
  }

  Ports last_, first_;
  detail::Agenda agenda_;
  std::function<void()> on_turn_;
};

}  // namespace espalier
