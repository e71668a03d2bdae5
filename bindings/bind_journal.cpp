#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/journal/detail/entry_json.hpp>
#include <espalier/backend/sqlite_store.hpp>
#endif

#include "errors.hpp"
#include "signals.hpp"
#include <pybind11/stl.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

#ifdef ESPALIER_HAS_SQLITE

namespace {

/// Reads every record that passes the filter. Returns the number of whole records and a description of each damaged
/// one.
std::pair<std::uint64_t, std::vector<std::string>> read_all(
    backend::JournalReader& reader, const std::function<void(const backend::JournalReader::Entry&)>& take) {
  std::uint64_t whole = 0;
  std::vector<std::string> damaged;
  for (bool more = true; more;) {
    try {
      const auto entry = reader.next();
      more = entry.has_value();
      if (entry) take(*entry), ++whole;
    } catch (const backend::StoreError& error) {
      damaged.emplace_back(error.what());
    }
  }
  return {whole, std::move(damaged)};
}

std::pair<std::uint64_t, std::vector<std::string>> export_journal(const std::string& file, std::uint64_t kind,
                                                                  const std::string& source, const std::string& purpose,
                                                                  std::uint64_t since, const py::function& take) {
  backend::JournalReader reader(file, {kind, source, purpose, since});
  return read_all(reader, [&](const backend::JournalReader::Entry& entry) {
    check_signals();
    take(backend::detail::entry_json(entry));
  });
}

std::pair<std::uint64_t, std::vector<std::string>> verify_journal(const std::string& file) {
  const py::gil_scoped_release unlock;
  backend::JournalReader reader(file);
  std::vector<std::string> damage = reader.damage();
  auto [whole, damaged] = read_all(reader, [](const backend::JournalReader::Entry&) {});
  damage.insert(damage.end(), damaged.begin(), damaged.end());
  return {whole, std::move(damage)};
}

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
  while (auto entry = reader.next()) {
    records.push_back(std::move(entry->record));
    if (records.size() == batch) put();
  }
  put();
}

}  // namespace

void bind_journal(py::module_& m) {
  m.def("export_journal", &export_journal, py::arg("file"), py::arg("kind"), py::arg("source"), py::arg("purpose"),
        py::arg("since"), py::arg("take"),
        "Gives each record as JSON to a function; returns how many there were, and what is wrong with others.");
  m.def(
      "check_journal", [](const std::string& file) { const backend::detail::JournalFile opened(file); },
      py::arg("file"), "Raises StoreError if it is no journal that this build reads.");
  m.def("verify_journal", &verify_journal, py::arg("file"),
        "(records that are whole, what is wrong with the file and the others).");
  m.def("copy_journal", &copy_journal, py::arg("source"), py::arg("target"), py::arg("run"),
        "Adds the records of a journal to another one, where they are not there yet, as paid by a run.");
}

#else

void bind_journal(py::module_& m) {
  for (const char* name : {"check_journal", "copy_journal", "export_journal", "verify_journal"})
    m.def(name, [](const py::args&, const py::kwargs&) { throw MissingPart("the journal", "libsqlite3-dev"); });
}

#endif

}  // namespace espalier::python
