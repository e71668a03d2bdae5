#include <espalier/core/input_file.hpp>
#include <espalier/run/work_folder.hpp>

#include "bindings.hpp"
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>

namespace espalier::python {

void bind_files(py::module_& m) {
  using run::detail::WorkFolder;
  py::class_<WorkFolder>(m, "WorkFolder",
                         "A folder that one process works in at a time, and whose files change together.")
      .def(py::init<std::filesystem::path, const std::string&>(), py::arg("folder"), py::arg("work"),
           "Raises InputError that says who works there.")
      .def_property_readonly("next", &WorkFolder::next, "Where new files are made.")
      .def("commit", &WorkFolder::commit, py::arg("shared") = false,
           "Puts the new files in their places: all of them or none. Only their owner may read them, unless `shared`.")
      .def("release", &WorkFolder::release,
           "Forgets new files that were not put in place, and lets others work in the folder.");
  m.def("settle", &run::detail::settle, py::arg("folder"), "Ends what a process that died was about to put in place.");
  m.def("open_input", &espalier::detail::open_input, py::arg("path"), py::call_guard<py::gil_scoped_release>(),
        "The descriptor of a regular file or a pipe, to read it. Raises InputError for anything else.");
}

}  // namespace espalier::python
