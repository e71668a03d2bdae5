#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>
#endif

#include "errors.hpp"
#include "signals.hpp"

#include <string>

namespace espalier::python {

#ifdef ESPALIER_HAS_SQLITE

void bind_journal(py::module_& m) {
  m.def("check_journal", &backend::SqliteStore::check, py::arg("file"),
        "Raises StoreError if it is no journal that this build reads.");
  m.def(
      "copy_journal",
      [](const std::string& source, const std::string& target, const std::string& run) {
        backend::SqliteStore(target, run).add(source, check_signals);
      },
      py::arg("source"), py::arg("target"), py::arg("run"),
      "Adds the records of a journal to another one, where they are not there yet, as paid by a run.");
}

#else

void bind_journal(py::module_& m) {
  for (const char* name : {"check_journal", "copy_journal"})
    m.def(name, [](const py::args&, const py::kwargs&) { throw MissingPart("the journal", "libsqlite3-dev"); });
}

#endif

}  // namespace espalier::python
