#pragma once

#include "async_service.hpp"
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// Runs a service under a guard of Python's lock. gil_scoped_release lets other Python threads run while our service
/// works. gil_scoped_acquire takes the lock for a service that expects to hold it inside one of ours.
template <class In, class Out, class Guard>
class Guarded final : public Service<In, Out> {
 public:
  explicit Guarded(std::unique_ptr<Service<In, Out>> inner) : inner_(std::move(inner)) {}
  void submit(Ticket ticket, const In& request) override { inner_->submit(ticket, request); }
  std::vector<Reply<Out>> poll(std::chrono::milliseconds wait) override {
    const Guard guard;
    return inner_->poll(wait);
  }
  [[nodiscard]] bool batch() const override { return inner_->batch(); }
  void cancel(Ticket ticket) override { inner_->cancel(ticket); }

 private:
  std::unique_ptr<Service<In, Out>> inner_;
};

/// One of our backends as a Python object. Opens a service for each run.
template <class In, class Out>
class Part {
 public:
  using Open = std::function<std::unique_ptr<Service<In, Out>>()>;
  /// With a fingerprint its answers can be journaled. `said`: what its repr says.
  explicit Part(Open open, std::optional<Hash> identity = std::nullopt, std::string said = "...")
      : fingerprint(identity), about(std::move(said)), open_(std::move(open)) {}
  std::optional<Hash> fingerprint;
  std::string about;

  [[nodiscard]] std::unique_ptr<Service<In, Out>> open() const {
    return std::make_unique<Guarded<In, Out, py::gil_scoped_release>>(open_());
  }
  /// The service for a thread that does not hold Python's lock.
  [[nodiscard]] std::unique_ptr<Service<In, Out>> open_unlocked() const { return open_(); }

  /// Answers a list of requests. Raises the first error.
  std::vector<Out> operator()(const std::vector<In>& requests) const { return ask(*open(), requests); }
  /// The same with a service from open(). It can be called again unless it raised.
  static std::vector<Out> ask(Service<In, Out>& service, const std::vector<In>& requests) {
    std::vector<Out> values;
    for (auto& answer : espalier::detail::ask_all(service, std::span(requests), check_signals))
      values.push_back(std::move(answer).value());
    return values;
  }

 private:
  Open open_;
};

using ModelPart = Part<Prompt, Completion>;
using RetrieverPart = Part<Query, Passages>;
using EncoderPart = Part<EncodeRequest, Embedding>;
using RerankerPart = Part<backend::RerankRequest, backend::RerankRequest::Scores>;

/// A part with a class of its own in Python. The tag tells it from others.
template <class Base, class Tag>
class OwnPart : public Base {
 public:
  using Base::Base;
  using Kind = Base;
};
template <class T>
auto part_class(py::module_& m, const char* name, const char* doc) {
  return py::class_<T, typename T::Kind, std::shared_ptr<T>>(m, name, doc);
}

/// One of our batch functions as a part. Every run gets a copy.
template <class In, class Out, class F>
typename Part<In, Out>::Open opens(F f) {
  return [f = std::move(f)] { return std::make_unique<BatchService<In, Out, F>>(f); };
}

/// True for a part, false for a Python function. Raises TypeError for anything else.
template <class In, class Out>
bool is_part(const py::object& backend, const std::string& role) {
  if (py::isinstance<Part<In, Out>>(backend)) return true;
  if (PyCallable_Check(backend.ptr())) return false;
  throw py::type_error(fmt::format("the {} must be a function of a list of requests or one of espalier.parts, not {}",
                                   role, type_name(backend)));
}

/// Opens a part, or a Python function as a service.
template <class In, class Out>
std::unique_ptr<Service<In, Out>> open_backend(const py::object& backend, const std::string& role) {
  return is_part<In, Out>(backend, role) ? backend.cast<const Part<In, Out>&>().open()
                                         : make_service<In, Out>(backend, role);
}

/// The fingerprint of a part. Nothing for a function.
template <class In, class Out>
std::optional<Hash> fingerprint_of(const py::object& backend) {
  return py::isinstance<Part<In, Out>>(backend) ? backend.cast<const Part<In, Out>&>().fingerprint : std::nullopt;
}

/// The identity of a backend: the fingerprint that a user gave, or that of a part.
template <class In, class Out>
std::optional<Hash> identity(const py::object& backend, const std::optional<std::string>& given) {
  return given ? Hasher().add("given").add(*given).finish() : fingerprint_of<In, Out>(backend);
}

}  // namespace espalier::python
