#pragma once

#include <espalier/output/detail/work_folder.hpp>
#include <espalier/output/report.hpp>
#include <espalier/run/detail/outputs.hpp>
#include <espalier/run/detail/run_record.hpp>

#include <filesystem>
#include <string>

namespace espalier::run::detail {

/// Makes the page of a run anew, which is one of its outputs. Throws InputError.
inline void renew_report(const std::filesystem::path& run) {
  output::detail::with_files([&] {
    const std::string summary = output::detail::read_summary(run);
    output::detail::WorkFolder folder(run, "espalier report");
    output::write_report(run, summary, folder.next() / "report.html");
    if (std::filesystem::exists(folder / "run.json")) {
      output::detail::FlatFields fields = output::detail::read_flat_fields((folder / "run.json").string());
      note_outputs(fields, folder.next());
      write_record(folder.next() / "run.json", fields);
    }
    folder.commit();
  });
}

}  // namespace espalier::run::detail
