#include <espalier/run/backends.hpp>

#include "parts.hpp"
#include "search.hpp"
#include "settings.hpp"

#include <utility>

namespace espalier::python {

namespace {

/// A part or a Python function as a backend of a run, whose thread does not hold Python's lock.
template <class In, class Out>
run::Given<In, Out> given(const py::handle& entry, const std::string& role) {
  const auto row = py::cast<py::tuple>(entry);
  const py::object backend = row[0], begin = row[3];
  const auto name = row[1].cast<std::optional<std::string>>();
  (void)is_part<In, Out>(backend, role);
  run::Given<In, Out> made;
  made.fingerprint = identity<In, Out>(backend, name);
  made.by_name = name.has_value();
  made.takes_grammar = row[4].cast<bool>();
  made.open = [role, label = row[2].cast<std::string>(), kept = shared(backend), ready = shared(begin),
               fingerprint = made.fingerprint] {
    const py::gil_scoped_acquire lock;
    if (!ready->is_none()) (*ready)();
    auto service = py::isinstance<Part<In, Out>>(*kept) ? kept->template cast<const Part<In, Out>&>().open_unlocked()
                                                        : open_backend<In, Out>(*kept, role);
    return run::Backend<In, Out>{std::move(service), fingerprint, label, true};
  };
  return made;
}

}  // namespace

run::Settings::GivenBackends make_given(const py::dict& backends) {
  run::Settings::GivenBackends all;
  for (const auto& [key, entry] : backends) {
    const auto name = key.cast<std::string>();
    if (name == "retriever") all.retriever = given<Query, Passages>(entry, name);
    else if (name == "encoder") all.encoder = given<EncodeRequest, Embedding>(entry, name);
    else if (name == "prune") all.prune = make_pruning(py::reinterpret_borrow<py::object>(entry));
    else if (name == "values") all.values = given<EncodeRequest, Embedding>(entry, "encoder");
    else
      all.models.emplace(run::Settings::GivenBackends::source + name.substr(std::string("model").size()),
                         given<Prompt, Completion>(entry, "model"));
  }
  return all;
}

}  // namespace espalier::python
