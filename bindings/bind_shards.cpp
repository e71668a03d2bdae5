#include <espalier/run/detail/shard.hpp>

#include "errors.hpp"
#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/output/detail/file_errors.hpp>
#include <espalier/run/detail/merge.hpp>
#endif

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace espalier::python {

void bind_shards(py::module_& m) {
  m.def(
      "in_shard", [](const std::string& shard, const std::string& id) { return run::detail::Shard(shard).takes(id); },
      py::arg("shard"), py::arg("id"), "Whether the question with this id stands in part 'I/N' ('' = in all).");
#ifdef ESPALIER_HAS_SIMDJSON
  m.def(
      "changed_outputs",
      [](const std::string& folder) {
        const py::gil_scoped_release unlock;
        return output::detail::with_files([&] { return run::detail::EarlierRun::in(folder).changed; });
      },
      py::arg("folder"), "The outputs of a run that are not as it left them.");
  m.def(
      "complete_merge",
      [](const std::vector<std::string>& shards, const std::string& folder, const std::string& journal) {
        const py::gil_scoped_release unlock;
        output::detail::with_files(
            [&] { run::detail::complete_merge({shards.begin(), shards.end()}, folder, journal); });
      },
      py::arg("shards"), py::arg("folder"), py::arg("journal"),
      "Makes summary.json, report.html and run.json of a run that was done in shards, beside its rows.");
#else
  for (const char* name : {"changed_outputs", "complete_merge"})
    m.def(name, [](const py::args&, const py::kwargs&) { throw MissingPart("reading JSON", "libsimdjson-dev"); });
#endif
}

}  // namespace espalier::python
