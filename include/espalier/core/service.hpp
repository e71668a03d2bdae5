#pragma once

#include <espalier/core/outcome.hpp>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace espalier {

/// Identifies one request between a port and its service.
using Ticket = std::uint64_t;

/// One answer of a service.
template <class Out>
class Reply {
 public:
  Reply(Ticket ticket, Outcome<Out> outcome) : ticket(ticket), outcome(std::move(outcome)) {}
  Ticket ticket;
  Outcome<Out> outcome;
};

/// A backend with its type erased: what a port drives. Two sorts share this shape:
/// - asynchronous (`batch() == false`): keeps the submitted requests in flight, poll() hands over what has arrived;
/// - synchronous (`batch() == true`): submit() only collects, poll() answers all that was collected in one call.
/// One thread at a time calls it.
template <class In, class Out>
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  /// Takes a request. Never blocks and never throws for a failure of the backend.
  virtual void submit(Ticket ticket, const In& request) = 0;
  /// Answers that have arrived; waits up to `wait` for the first one, and may return early with none.
  virtual std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) = 0;
  /// True if poll() is one synchronous call over everything submitted.
  [[nodiscard]] virtual bool batch() const = 0;
  /// Nobody waits for this request any more.
  virtual void cancel(Ticket) {}
};

}  // namespace espalier
