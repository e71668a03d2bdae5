#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/journal/reader.hpp>
#include <espalier/backend/sqlite_store.hpp>
#endif

#include "errors.hpp"
#include "signals.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

#ifdef ESPALIER_HAS_SQLITE

namespace {

/// Records that are written in one transaction.
constexpr std::size_t batch = 1024;

void copy_journal(const std::string& source, const std::string& target, const std::string& run) {
  backend::JournalReader reader(source);
  backend::SqliteStore store(target, run);
  std::vector<backend::Record> records;
  const auto put = [&] {
    check_signals();
    store.put(records);
    records.clear();
  };
  while (auto record = reader.next()) {
    records.push_back(std::move(*record));
    if (records.size() == batch) put();
  }
  put();
}

}  // namespace

void bind_journal(py::module_& m) {
  m.def(
      "check_journal", [](const std::string& file) { const backend::JournalReader opened(file); }, py::arg("file"),
      "Raises StoreError if it is no journal that this build reads.");
  m.def("copy_journal", &copy_journal, py::arg("source"), py::arg("target"), py::arg("run"),
        "Adds the records of a journal to another one, where they are not there yet, as paid by a run.");
}

#else

void bind_journal(py::module_& m) {
  for (const char* name : {"check_journal", "copy_journal"})
    m.def(name, [](const py::args&, const py::kwargs&) { throw MissingPart("the journal", "libsqlite3-dev"); });
}

#endif

}  // namespace espalier::python
