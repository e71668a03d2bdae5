#include <espalier/run/work_folder.hpp>

#include "bindings.hpp"
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>

namespace espalier::python {

void bind_work_folder(py::module_& m) {
  using run::detail::WorkFolder;
  py::class_<WorkFolder>(m, "WorkFolder",
                         "A folder that one process works in at a time, and whose files change together.")
      .def(py::init<std::filesystem::path, const std::string&>(), py::arg("folder"), py::arg("work"),
           "Raises InputError that says who works there.")
      .def_property_readonly("next", &WorkFolder::next, "Where new files are made.")
      .def("commit", &WorkFolder::commit, "Puts the new files in their places: all of them or none.")
      .def("release", &WorkFolder::release,
           "Forgets new files that were not put in place, and lets others work in the folder.");
  m.def("settle", &run::detail::settle, py::arg("folder"), "Ends what a process that died was about to put in place.");
}

}  // namespace espalier::python
