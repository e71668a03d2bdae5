#pragma once

#include <espalier/core/batch_service.hpp>

#include "callable.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::python {

/// True if a function is marked as taking a single request.
inline bool asks_singly(py::handle function) {
  return py::isinstance(function, py::module_::import("espalier.bridge.per_request").attr("PerRequest"));
}

/// A Python `async def` function of one request as an asynchronous backend. Each request is a task on an event loop,
/// and replies are collected as they arrive. They are read like those of a Callable. Python is entered once per poll.
template <class In, class Out>
class AsyncService final : public Service<In, Out> {
 public:
  AsyncService(const py::object& function, const std::string& role)
      : reader_(function, role),
        tasks_(shared(py::module_::import("espalier.bridge.tasks").attr("Tasks")(function, role))) {}
  ~AsyncService() override {
    const py::gil_scoped_acquire lock;
    asked_.clear();
    try {
      tasks_->attr("stop")();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("espalier: ending the tasks of a run");
    }
  }

  void submit(Ticket ticket, const In& request) override {
    fresh_.push_back(ticket);
    asked_.emplace(ticket, request);
  }

  /// An exception that ends the run is kept until the replies that arrived with it are handed on.
  std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) override {
    const py::gil_scoped_acquire lock;
    if (failure_) raise(*failure_);
    py::list requests;
    for (const Ticket ticket : std::exchange(fresh_, {}))
      requests.append(py::make_tuple(ticket, reader_.shown(asked_.at(ticket))));
    const py::list ended = tasks_->attr("exchange")(requests, std::chrono::duration<double>(wait).count());
    std::vector<Reply<Out>> replies;
    for (const py::handle row : ended) take(py::reinterpret_borrow<py::tuple>(row), replies);
    if (failure_ && replies.empty()) raise(*failure_);
    return replies;
  }

  [[nodiscard]] bool batch() const override { return false; }

  void cancel(Ticket ticket) override {
    asked_.erase(ticket);
    if (std::erase(fresh_, ticket) > 0) return;
    const py::gil_scoped_acquire lock;
    tasks_->attr("cancel")(ticket);
  }

 private:
  void take(const py::tuple& ended, std::vector<Reply<Out>>& replies) {
    const auto asked = asked_.extract(ended[0].cast<Ticket>());
    if (asked.empty()) return;  // nobody waits for it any more
    try {
      replies.emplace_back(asked.key(), reader_.outcome(ended[1], asked.mapped(), reader_.alone));
    } catch (const BackendError&) {
      replies.emplace_back(asked.key(), std::current_exception());
    } catch (const py::error_already_set& error) {
      failure_ = shared(error.value());
    }
  }

  Callable<In, Out> reader_;
  std::shared_ptr<py::object> tasks_;
  std::shared_ptr<py::object> failure_;
  std::vector<Ticket> fresh_;  ///< not yet handed to Python
  std::unordered_map<Ticket, In> asked_;
};

/// A Python function as a service: called in batches, or per request if it is marked so.
template <class In, class Out>
std::unique_ptr<Service<In, Out>> make_service(const py::object& function, const std::string& role) {
  if (asks_singly(function)) return std::make_unique<AsyncService<In, Out>>(function, role);
  return std::make_unique<BatchService<In, Out, Callable<In, Out>>>(Callable<In, Out>(function, role));
}

}  // namespace espalier::python
