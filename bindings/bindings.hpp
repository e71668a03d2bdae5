#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <string_view>

/// The Python extension: one bind_<family>.cpp for each family of types, all registered by module.cpp.
namespace espalier::python {

namespace py = pybind11;

/// An object as a repr shows it inside another one: at most 200 characters of one line, and how many are left out.
inline py::str brief(py::handle object) {
  constexpr py::ssize_t most = 200;
  const py::str whole = py::module_::import("espalier.errors").attr("one_line")(py::repr(object));
  const auto size = static_cast<py::ssize_t>(py::len(whole));
  if (size <= most) return whole;
  return py::str("{}... ({:,} characters left out)").format(whole[py::slice(0, most, 1)], size - most);
}
inline py::str brief(std::string_view text) { return brief(py::handle(py::str(text))); }

void bind_errors();
/// Registers a family of types.
using Bind = void(py::module_& m);
Bind bind_data, bind_prompt, bind_rewards, bind_local_backends, bind_dense, bind_http, bind_index, bind_environment,
    bind_tree, bind_read, bind_search, bind_pruning, bind_engines, bind_job, bind_journal, bind_answering, bind_files,
    bind_shards, bind_method, bind_problem;
/// Makes every registered function report arguments that do not fit in one line, and every class refuse objects without
/// content and have a repr. It must be called last.
void shorten_mismatches(const py::module_& m);

}  // namespace espalier::python
