#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>

#include "errors.hpp"
#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/run/batch.hpp>

#include <pybind11/stl.h>
#endif

#include <string>
#include <vector>

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
#ifdef ESPALIER_HAS_SIMDJSON
  m.def(
      "ingest_batch",
      [](const std::vector<std::string>& requests, const std::string& responses, const std::string& journal,
         const std::string& finish_reasons) {
        backend::SqliteStore store(journal);
        const run::detail::BatchCounts counts = run::detail::ingest_batch(requests, responses, store, finish_reasons);
        return py::make_tuple(counts.stored, counts.failed, counts.unknown, counts.doubt);
      },
      py::arg("requests"), py::arg("responses"), py::arg("journal"), py::arg("finish_reasons"),
      "(keys stored, (key, why) of those that failed, lines that answer no request, what is wrong with its token "
      "counts).");
#endif
}

}  // namespace espalier::python

#endif
