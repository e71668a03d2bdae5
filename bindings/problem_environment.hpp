#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/llm/scheduler.hpp>

#include "async_service.hpp"
#include "problem.hpp"
#include <pybind11/stl.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

/// A problem written in Python as an environment. Each of its functions is called once for all waiting requests of all
/// trees.
namespace espalier::python {

/// A call of a problem's function for one state. Never shared.
struct ProblemRequest {
  explicit ProblemRequest(py::tuple asked) : state(std::move(asked)) {}
  py::object state;
};

/// A proposal from Python. Its kind is the requested one.
struct Offer {
  py::object action;
  float prior;
};
using Offers = std::vector<Proposal<ProblemAction>>;

template <>
inline py::object Callable<ProblemRequest, py::object>::read(const py::object& item, const ProblemRequest&,
                                                             std::size_t) const {
  return item;
}
template <>
inline double Callable<ProblemRequest, double>::read(const py::object& item, const ProblemRequest&,
                                                     std::size_t i) const {
  return finite(item, i);
}
template <>
inline py::bytes Callable<ProblemRequest, py::bytes>::read(const py::object& item, const ProblemRequest&,
                                                           std::size_t i) const {
  if (listed(item)) {
    const py::list kinds(item);
    if (PyObject* bytes = PyBytes_FromObject(kinds.ptr())) return py::reinterpret_steal<py::bytes>(bytes);
    PyErr_Clear();
  }
  refuse_item(i, "a list of kinds from 0 to 255", py::repr(item));
}
template <>
inline Offers Callable<ProblemRequest, Offers>::read(const py::object& item, const ProblemRequest& request,
                                                     std::size_t i) const {
  if (!PyList_Check(item.ptr()) && !PyTuple_Check(item.ptr())) refuse_item(i, "a list of actions", type_name(item));
  const py::tuple asked = request.state;
  const auto kind = asked[1].cast<Kind>();
  const auto n = asked[2].cast<std::size_t>();
  auto* const weighted = reinterpret_cast<PyTypeObject*>(py::type::of<Offer>().ptr());
  Offers proposals;
  for (const py::handle offered : item) {
    if (proposals.size() == n) break;
    Offer offer{py::reinterpret_borrow<py::object>(offered), 1};
    if (PyObject_TypeCheck(offered.ptr(), weighted)) offer = offered.cast<Offer>();
    proposals.emplace_back(ProblemAction{std::move(offer.action)}, kind, offer.prior);
  }
  return proposals;
}

template <class Out>
Port<ProblemRequest, Out> port_of(Scheduler& scheduler, const py::object& function, const char* role) {
  return scheduler.port<ProblemRequest, Out>(make_service<ProblemRequest, Out>(function, role));
}

/// kinds, propose and step of a problem, and the value of its states.
using Functions = std::array<py::object, 4>;

/// The environment of kinds([(state,)]), propose([(state, kind, n, seed)]) and step([(state, action, seed)]).
class ProblemEnvironment {
 public:
  using State = ProblemState;
  using Action = ProblemAction;
  ProblemEnvironment(Scheduler& scheduler, const Functions& functions)
      : kinds_(port_of<py::bytes>(scheduler, functions[0], "problem's kinds")),
        propose_(port_of<Offers>(scheduler, functions[1], "problem's propose")),
        step_(port_of<py::object>(scheduler, functions[2], "problem's step")) {}

  [[nodiscard]] static std::span<const Kind> kinds(const State& s) {
    const auto* first = reinterpret_cast<const Kind*>(PyBytes_AS_STRING(s.kinds.ptr()));
    return {first, py::len(s.kinds)};
  }
  [[nodiscard]] Task<Offers> propose(const State& s, Kind kind, std::uint32_t n, const Context& context) const {
    return propose_.ask(ProblemRequest(py::make_tuple(s.object, kind, n, context.seed.value())));
  }
  [[nodiscard]] Task<State> step(const State& s, const Action& a, const Context& context) const {
    return next(this, ProblemRequest(py::make_tuple(s.object, a.object, context.seed.value())));
  }
  /// A state together with its kinds.
  static Task<State> known(const ProblemEnvironment* self, py::object object) {
    State state;
    ProblemRequest request(py::make_tuple(object));
    state.kinds = co_await self->kinds_(std::move(request));
    state.object = std::move(object);
    co_return state;
  }

 private:
  static Task<State> next(const ProblemEnvironment* self, ProblemRequest request) {
    py::object object = co_await self->step_(std::move(request));
    co_return co_await known(self, std::move(object));
  }
  Port<ProblemRequest, py::bytes> kinds_;
  Port<ProblemRequest, Offers> propose_;
  Port<ProblemRequest, py::object> step_;
};

/// value([(state, seed)]) -> numbers.
struct StateValue {
  Port<ProblemRequest, double> port;
  Task<double> operator()(ProblemEnvironment&, const ProblemState& s, const Context& context) const {
    return port.ask(ProblemRequest(py::make_tuple(s.object, context.seed.value())));
  }
};

}  // namespace espalier::python
