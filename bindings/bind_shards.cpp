#include <espalier/run/settings.hpp>

#include "errors.hpp"
#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/core/json_writer.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/run/work_folder.hpp>

#include <simdjson.h>
#endif
#include <pybind11/stl.h>

#include <filesystem>
#include <optional>
#include <string>

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
        return run::detail::with_files([&] { return run::detail::EarlierRun::in(folder).changed; });
      },
      py::arg("folder"), "The outputs of a run that are not as it left them.");
  m.def(
      "write_json",
      [](const std::string& file, const std::string& text) {
        simdjson::dom::parser parser;
        std::string written;
        JsonWriter json(written);
        output::detail::append_json(json, parser.parse(text));
        run::detail::write_file(file, written + '\n');
      },
      py::arg("file"), py::arg("text"), "Writes JSON as a run writes it, whole or not at all.");
  m.def(
      "note_outputs",
      [](const std::string& folder, const std::string& next, const std::optional<std::string>& journal) {
        const py::gil_scoped_release unlock;
        run::detail::with_files([&] {
          const auto recorded = output::detail::read_flat_fields((std::filesystem::path(folder) / "run.json").string());
          auto fields = journal ? run::detail::RunRecord::whole(recorded, *journal) : recorded;
          if (journal && recorded.front().first == "annotated") run::detail::mark_annotated(fields);
          run::detail::note_outputs(fields, next);
          output::detail::write_flat_json(std::filesystem::path(next) / "run.json", fields);
        });
      },
      py::arg("folder"), py::arg("next"), py::arg("journal") = py::none(),
      "Writes the run.json of a folder into `next`, with what is in `next` among its outputs. `journal`: the folder is "
      "a shard, and the record is that of its whole run, which has this journal.");
#endif
}

}  // namespace espalier::python
