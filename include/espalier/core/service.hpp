#pragma once

#include <espalier/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace espalier {

/// What a backend returns for one item: a value or an error.
template <class T>
class Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}                   // NOLINT: a value is an outcome
  Outcome(std::exception_ptr error) : error_(std::move(error)) {}  // NOLINT: so is an error
  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  /// The value. Rethrows the error if there is none.
  [[nodiscard]] const T& value() const& {
    if (!ok()) std::rethrow_exception(error_);
    return *value_;
  }
  [[nodiscard]] T value() && {
    if (!ok()) std::rethrow_exception(error_);
    return std::move(*value_);
  }
  /// The error. Call it only if !ok().
  [[nodiscard]] const std::exception_ptr& error() const { return error_; }

 private:
  std::optional<T> value_;
  std::exception_ptr error_{};
};

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

/// A backend behind one interface. A port calls it, from one thread at a time. There are two sorts:
/// - asynchronous (`batch() == false`): keeps submitted requests in flight, and poll() returns what has arrived,
/// - synchronous (`batch() == true`): submit() only collects, and poll() answers all collected requests in one call.
template <class In, class Out>
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  /// Takes a request. Never blocks and never throws for a failure of the backend.
  virtual void submit(Ticket ticket, const In& request) = 0;
  /// Returns answers that have arrived. Waits up to `wait` for the first one, and may return early without any.
  virtual std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) = 0;
  /// True if poll() is one synchronous call over everything submitted.
  [[nodiscard]] virtual bool batch() const = 0;
  /// Tells the service that nobody waits for this request any more.
  virtual void cancel(Ticket) {}
};

namespace detail {

/// The outcome of a request. An answer that says that it has failed() is a BackendError.
template <class In, class Out>
Outcome<Out> judged(Outcome<Out> outcome, const In& request) {
  if constexpr (requires(const Out& answer) { answer.failed(request); })
    if (outcome.ok() && outcome.value().failed(request))
      return std::make_exception_ptr(BackendError("the model's answer has no end (finish is 'other'), or no token"));
  return outcome;
}

/// Asks a service and waits for all answers. `turn` is called at least every 50 ms and may throw.
template <class In, class Out, class Turn>
std::vector<Outcome<Out>> ask_all(Service<In, Out>& service, std::span<const In> requests, Turn&& turn) {
  std::vector<Outcome<Out>> answers(requests.size(), std::exception_ptr());
  for (std::size_t i = 0; i < requests.size(); ++i) service.submit(i, requests[i]);
  for (std::size_t left = requests.size(); left > 0;) {
    turn();
    for (auto& reply : service.poll(std::chrono::milliseconds(50))) {
      answers[reply.ticket] = std::move(reply.outcome);
      --left;
    }
  }
  return answers;
}

}  // namespace detail

}  // namespace espalier
