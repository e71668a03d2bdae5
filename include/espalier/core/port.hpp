#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/service.hpp>
#include <espalier/core/task.hpp>

#include <chrono>
#include <coroutine>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier {

namespace detail {

/// The scheduler's view of a port.
class PortBase {
 public:
  virtual ~PortBase() = default;
  /// Submits waiting requests to the service, up to its limit in flight.
  virtual void feed() = 0;
  /// Takes arrived answers and wakes their coroutines. True if there were any.
  virtual bool collect(std::chrono::milliseconds wait) = 0;
  [[nodiscard]] virtual bool idle() const = 0;      ///< nothing waits and nothing is in flight
  [[nodiscard]] virtual bool batch() const = 0;     ///< answers only when it is flushed
  [[nodiscard]] virtual bool external() const = 0;  ///< answered from outside (ask/tell)
};

template <class In, class Out>
class PortState;

/// A coroutine that waits for one answer. Lives in the coroutine's frame.
template <class In, class Out>
class Waiter {
 public:
  Waiter(std::shared_ptr<PortState<In, Out>> port, In request) : port_(std::move(port)), request_(std::move(request)) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    if (!coroutine_) return;
    if (!answer_) port_->abandon(*ticket_, this);
    else if (agenda) agenda->forget(coroutine_);
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    ticket_ = port_->submit(std::move(request_), this);
    coroutine_ = coroutine;
  }
  Out await_resume() {
    coroutine_ = nullptr;
    return std::move(*answer_).value();
  }

 private:
  friend class PortState<In, Out>;
  std::shared_ptr<PortState<In, Out>> port_;
  In request_;
  std::coroutine_handle<> coroutine_{};  ///< while it waits, or is about to run
  Waiter* next_ = nullptr;               ///< the next waiter for the same request
  std::optional<Ticket> ticket_{};
  std::optional<Outcome<Out>> answer_{};
};

template <class In, class Out>
class PortState final : public PortBase {
 public:
  PortState(std::unique_ptr<Service<In, Out>> service, std::size_t max_in_flight)
      : service_(std::move(service)), max_in_flight_(max_in_flight) {}

  Ticket submit(In request, Waiter<In, Out>* waiter) {
    const Ticket ticket = last_ticket_ + 1;
    Hash key{};
    if constexpr (shares) {
      key = request.key();
      if (const auto [twin, alone] = by_key_.emplace(key, ticket); !alone) {
        Entry& entry = entries_.at(twin->second);
        entry.last = entry.last->next_ = waiter;
        return twin->second;
      }
    }
    last_ticket_ = ticket;
    entries_.emplace_hint(entries_.end(), ticket, Entry{std::move(request), key, waiter, waiter});
    return ticket;
  }

  void abandon(Ticket ticket, Waiter<In, Out>* waiter) {
    const auto it = entries_.find(ticket);
    if (it == entries_.end()) return;
    Entry& entry = it->second;
    Waiter<In, Out>* before = nullptr;
    for (auto* other = entry.first; other != waiter; other = other->next_) before = other;
    (before ? before->next_ : entry.first) = waiter->next_;
    if (entry.last == waiter) entry.last = before;
    if (entry.first) return;
    if (ticket <= fed_) {
      service_->cancel(ticket);
      --in_flight_;
    }
    if constexpr (shares) by_key_.erase(entry.key);
    entries_.erase(it);
  }

  void feed() override {
    if (!service_) return;
    for (auto it = entries_.upper_bound(fed_); it != entries_.end() && in_flight_ < max_in_flight_; ++it) {
      ++in_flight_;
      fed_ = it->first;
      service_->submit(fed_, it->second.request);
    }
  }

  bool collect(std::chrono::milliseconds wait) override {
    auto replies = service_->poll(wait);
    if (service_->batch() && !replies.empty()) ++accounts_.flushes;
    for (auto& reply : replies) deliver(reply.ticket, std::move(reply.outcome));
    return !replies.empty();
  }

  /// Wakes all that wait for this request. All but the first get an answer's shared(), where it has that. An error that
  /// is not a BackendError ends the run. A ticket's first answer counts. Unknown tickets are std::invalid_argument.
  void deliver(Ticket ticket, Outcome<Out> outcome) {
    auto entry = entries_.extract(ticket);
    if (entry.empty() && ticket > 0 && ticket <= last_ticket_) return;
    if (entry.empty()) throw std::invalid_argument("no request waits under ticket " + std::to_string(ticket));
    if (ticket <= fed_) --in_flight_;
    if constexpr (shares) by_key_.erase(entry.mapped().key);
    outcome = judged(std::move(outcome), entry.mapped().request);
    const bool ok = outcome.ok();
    if (!ok) rethrow_unless_backend(outcome.error());
    std::size_t waiters = 0;
    for (auto* waiter = entry.mapped().first; waiter; waiter = waiter->next_, ++waiters) {
      if constexpr (requires(Out&& out) { std::move(out).shared(); })
        if (ok && waiters == 1) outcome = std::move(outcome).value().shared();
      if (waiter->next_) waiter->answer_ = outcome;
      else waiter->answer_ = std::move(outcome);
      agenda->ready.push_back(waiter->coroutine_);
    }
    accounts_.logical += waiters;
    if (ok) accounts_.shared += waiters - 1;
    else accounts_.failed += waiters;
  }

  /// Requests that were not submitted to a service, in the order in which they were made.
  [[nodiscard]] std::vector<std::pair<Ticket, const In*>> pending() const {
    std::vector<std::pair<Ticket, const In*>> requests;
    for (auto it = entries_.upper_bound(fed_); it != entries_.end(); ++it)
      requests.emplace_back(it->first, &it->second.request);
    return requests;
  }

  [[nodiscard]] bool idle() const override { return entries_.empty(); }
  [[nodiscard]] bool batch() const override { return service_ && service_->batch(); }
  [[nodiscard]] bool external() const override { return !service_; }
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }

 private:
  /// Requests without a key are never shared.
  static constexpr bool shares = requires(const In& request) { request.key(); };
  struct Entry {
    In request;
    Hash key;
    Waiter<In, Out>* first;  ///< waiters in the order in which they asked
    Waiter<In, Out>* last;
  };
  static void rethrow_unless_backend(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const BackendError&) {
    }
  }

  std::unique_ptr<Service<In, Out>> service_;
  std::size_t max_in_flight_;
  std::size_t in_flight_ = 0;
  Ticket last_ticket_ = 0;
  Ticket fed_ = 0;  // the service has received every ticket up to this one
  std::map<Ticket, Entry> entries_;
  std::unordered_map<Hash, Ticket> by_key_;
  Accounts accounts_;
};

}  // namespace detail

/// The way from a tree to a backend: `Out answer = co_await port(request)`. A cheap handle that any number of
/// environments may hold. It hides the backend's type. Requests of equal key() in flight share an answer.
template <class In, class Out>
class Port {
 public:
  explicit Port(std::shared_ptr<detail::PortState<In, Out>> state) : state_(std::move(state)) {}
  /// Waits for the answer. Throws BackendError if the request failed.
  [[nodiscard]] detail::Waiter<In, Out> operator()(In request) const { return {state_, std::move(request)}; }
  /// The same as a task, for gather().
  [[nodiscard]] Task<Out> ask(In request) const { return wait(*this, std::move(request)); }
  /// The waiting requests, oldest first. Requests of a port without a backend stay here until resume().
  [[nodiscard]] std::vector<std::pair<Ticket, const In*>> pending() const { return state_->pending(); }
  [[nodiscard]] const Accounts& accounts() const { return state_->accounts(); }

 private:
  friend class PortScheduler;
  static Task<Out> wait(Port port, In request) {
    Out answer = co_await port(std::move(request));
    co_return answer;
  }

  std::shared_ptr<detail::PortState<In, Out>> state_;
};

}  // namespace espalier
