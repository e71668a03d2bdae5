#include "bindings.hpp"
#if defined(ESPALIER_HAS_SIMDJSON) && defined(ESPALIER_HAS_SQLITE)
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/run/batch.hpp>
#endif

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace espalier::python {

void bind_batch([[maybe_unused]] py::module_& m) {
#if defined(ESPALIER_HAS_SIMDJSON) && defined(ESPALIER_HAS_SQLITE)
  m.def(
      "ingest_batch",
      [](const std::vector<std::string>& requests, const std::string& responses, const std::string& journal) {
        backend::SqliteStore store(journal);
        const run::detail::BatchCounts counts = run::detail::ingest_batch(requests, responses, store);
        return py::make_tuple(counts.stored, counts.failed, counts.unknown, counts.doubt);
      },
      py::arg("requests"), py::arg("responses"), py::arg("journal"),
      "(keys stored, (key, why) of those that failed, number of lines that answer no request, which token counts could "
      "not be).");
#endif
}

}  // namespace espalier::python
