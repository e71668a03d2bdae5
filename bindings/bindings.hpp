#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <string_view>

/// The Python extension: one bind_<family>.cpp for each family of types, all registered by module.cpp.
namespace espalier::python {

namespace py = pybind11;

/// An object as a repr shows it inside another one: at most 200 characters of it, and how many are left out.
inline py::str brief(py::handle object) {
  constexpr py::ssize_t most = 200;
  const py::str whole = py::repr(object);
  const auto size = static_cast<py::ssize_t>(py::len(whole));
  if (size <= most) return whole;
  return py::str("{}... ({:,} characters left out)").format(whole[py::slice(0, most, 1)], size - most);
}
inline py::str brief(std::string_view text) { return brief(py::handle(py::str(text))); }

void bind_errors();
void bind_data(py::module_& m);
void bind_prompt(py::module_& m);
void bind_rewards(py::module_& m);
void bind_local_backends(py::module_& m);
void bind_dense(py::module_& m);
void bind_http(py::module_& m);
void bind_index(py::module_& m);
void bind_environment(py::module_& m);
void bind_tree(py::module_& m);
void bind_read(py::module_& m);
void bind_search(py::module_& m);
void bind_pruning(py::module_& m);
void bind_engines(py::module_& m);
void bind_job(py::module_& m);
void bind_journal(py::module_& m);
void bind_answering(py::module_& m);
void bind_files(py::module_& m);
void bind_shards(py::module_& m);
void bind_method(py::module_& m);
void bind_problem(py::module_& m);
/// Makes every registered function report arguments that do not fit in one line, and every class refuse objects without
/// content. It must be called last.
void shorten_mismatches(const py::module_& m);

}  // namespace espalier::python
