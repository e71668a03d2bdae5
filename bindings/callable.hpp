#pragma once

#include <espalier/backend/http/watch.hpp>
#include <espalier/backend/rerank.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include "errors.hpp"
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

/// While a run works in a thread, clients that open there share its watch, also those inside retrievers. null: each has
/// its own.
struct OneRun {
  using Watch = std::shared_ptr<backend::HttpWatch>;
  explicit OneRun(Watch* watch) : before(std::exchange(now, watch)) {}
  ~OneRun() { now = before; }
  Watch* before;
  static inline thread_local Watch* now = nullptr;
};

/// A Python function as a batch function, called once per batch. Its reply is checked, and a wrong one is a
/// BackendError that says what was expected and what came. A BackendError that it raises, or returns in place of an
/// item, is a failure of the backend. Any other exception ends the run.
template <class In, class Out>
class Callable {
 public:
  /// `role` is its name in messages: "model", "retriever" ...
  Callable(py::object function, std::string role)
      : function_(shared(std::move(function))),
        role_(std::move(role)),
        call_(shared(py::module_::import("espalier.bridge.call").attr("call"))) {}

  std::vector<Outcome<Out>> operator()(std::span<const In> requests) const {
    const py::gil_scoped_acquire lock;
    const py::object reply = call(requests);
    const py::sequence items = rows(reply, requests.size());
    std::vector<Outcome<Out>> outcomes;
    outcomes.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) outcomes.push_back(outcome(items[i], requests[i], i));
    return outcomes;
  }

  /// The position of a request that was not part of a list.
  static constexpr std::size_t alone = std::numeric_limits<std::size_t>::max();
  /// The outcome of one item of a reply. `i` is its position.
  [[nodiscard]] Outcome<Out> outcome(const py::object& item, const In& request, std::size_t i) const {
    if (!PyExceptionInstance_Check(item.ptr())) return read(item, request, i);
    if (!py::isinstance(item, error_class("BackendError"))) raise(item);
    return std::make_exception_ptr(PythonBackendError(item));
  }

  /// The part of a request that the function sees.
  static const auto& shown(const In& request) {
    if constexpr (requires { request.state; }) return request.state;
    else return request;
  }

 private:
  [[nodiscard]] py::object call(std::span<const In> requests) const {
    const OneRun outside(nullptr);  // the function judges failures of its own clients itself
    py::list list;
    for (const In& request : requests) list.append(shown(request));
    try {
      return (*call_)(*function_, list, role_);
    } catch (const py::error_already_set& error) {
      if (!error.matches(error_class("BackendError"))) throw;
      throw PythonBackendError(error.value());
    }
  }

  /// The reply as a sequence of the right length.
  [[nodiscard]] py::sequence rows(const py::object& reply, std::size_t expected) const {
    if (!listed(reply)) refuse(fmt::format("a list of {}", expected), type_name(reply));
    const std::size_t length = py::len(reply);
    if (length != expected)
      refuse(fmt::format("a list of {}", expected), fmt::format("a {} of {}", type_name(reply), length));
    return reply;
  }
  static bool listed(const py::object& object) {
    return PySequence_Check(object.ptr()) && !PyUnicode_Check(object.ptr()) && !PyBytes_Check(object.ptr());
  }

  [[noreturn]] void refuse(const std::string& expected, const std::string& came) const {
    throw BackendError(fmt::format("the {} must return {}, but it returned {}", role_, expected, came),
                       BackendError::Kind::permanent);
  }
  [[noreturn]] void refuse_item(std::size_t i, const std::string& expected, const std::string& came) const {
    if (i == alone) refuse(fmt::format("{} or a BackendError", expected), came);
    refuse(fmt::format("{} or a BackendError for each request", expected), fmt::format("{} for request {}", came, i));
  }

  [[nodiscard]] double finite(const py::object& item, std::size_t i) const {
    const double value = PyFloat_AsDouble(item.ptr());
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse_item(i, "a float", type_name(item));
    }
    if (!std::isfinite(value)) refuse_item(i, "a finite float", fmt::format("{}", value));
    return value;
  }

  Out read(const py::object& item, const In& request, std::size_t i) const;

  std::shared_ptr<py::object> function_;
  std::string role_;
  std::shared_ptr<py::object> call_;  ///< waits for awaitables, and reports calls that take long
};

/// Reads the numbers of a Python sequence or of a one-dimensional buffer of floats, such as a row of an array. False if
/// it is neither.
bool read_floats(py::handle object, std::vector<float>& numbers);

template <>
inline Completion Callable<Prompt, Completion>::read(const py::object& item, const Prompt&, std::size_t i) const {
  if (halved(item)) refuse_item(i, "a str, a Completion", "half of a surrogate pair");
  if (PyUnicode_Check(item.ptr())) return Completion(item.cast<std::string>());
  if (!py::isinstance<Completion>(item)) refuse_item(i, "a str, a Completion", type_name(item));
  return item.cast<Completion>();
}

template <>
inline Passages Callable<Query, Passages>::read(const py::object& item, const Query& query, std::size_t i) const {
  if (!PyList_Check(item.ptr()) && !PyTuple_Check(item.ptr())) refuse_item(i, "a list of Passage", type_name(item));
  Passages passages;
  for (const py::handle passage : item) {
    if (!py::isinstance<Passage>(passage))
      refuse_item(i, "a list of Passage", fmt::format("a list with {}", type_name(passage)));
    if (passages.size() < query.k) passages.push_back(passage.cast<Passage>());
  }
  return passages;
}

template <>
inline Embedding Callable<EncodeRequest, Embedding>::read(const py::object& item, const EncodeRequest&,
                                                          std::size_t i) const {
  Embedding embedding;
  if (!read_floats(item, embedding)) refuse_item(i, "a row of floats", type_name(item));
  return embedding;
}

template <>
inline backend::RerankRequest::Scores Callable<backend::RerankRequest, backend::RerankRequest::Scores>::read(
    const py::object& item, const backend::RerankRequest&, std::size_t i) const {
  std::vector<float> numbers;
  if (!read_floats(item, numbers)) refuse_item(i, "a row of floats", type_name(item));
  return {numbers.begin(), numbers.end()};
}

}  // namespace espalier::python
