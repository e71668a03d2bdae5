#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>

#include "errors.hpp"

#include <string>

namespace espalier::python {

void bind_journal(py::module_& m) {
  m.def("check_journal", &backend::SqliteStore::check, py::arg("file"),
        "Raises StoreError if it is no journal that this build reads.");
  m.def(
      "copy_journal",
      [](const std::string& source, const std::string& target, const std::string& run) {
        backend::SqliteStore::copy(source, target, run, check_signals);
      },
      py::arg("source"), py::arg("target"), py::arg("run"),
      "Adds the records of a journal to another one, where they are not there yet, as paid by a run.");
}

}  // namespace espalier::python

#endif
