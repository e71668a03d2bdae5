#pragma once

#include <pybind11/pybind11.h>

/// The Python extension: one bind_<family>.cpp for each family of types, all registered by module.cpp.
namespace espalier::python {

namespace py = pybind11;

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
void bind_batch(py::module_& m);
void bind_work_folder(py::module_& m);
void bind_shards(py::module_& m);
void bind_method(py::module_& m);
void bind_problem(py::module_& m);
/// Makes every registered function report arguments that do not fit in one line. It must be called last.
void shorten_mismatches(const py::module_& m);

}  // namespace espalier::python
