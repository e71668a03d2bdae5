#include "signals.hpp"

#include "bindings.hpp"

#include <chrono>

namespace espalier::python {

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point due{};
  const auto now = Clock::now();
  if (now < due) return;
  due = now + std::chrono::milliseconds(20);
  py::module_::import("espalier.bridge.awaited").attr("check")();
}

}  // namespace espalier::python
