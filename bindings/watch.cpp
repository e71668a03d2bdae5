#include "watch.hpp"

#include "bindings.hpp"

namespace espalier::python {

void warn(const std::string& what) {
  const py::gil_scoped_acquire lock;
  py::module_::import("logging").attr("getLogger")("espalier").attr("warning")("%s", what);
}

std::shared_ptr<backend::HttpWatch> warning_watch(double deadline_s) {
  return std::make_shared<backend::HttpWatch>(deadline_s, &warn);
}

}  // namespace espalier::python
