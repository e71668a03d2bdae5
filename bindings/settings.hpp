#pragma once

#include <espalier/run/settings.hpp>

#include "bindings.hpp"

#include <string>

namespace espalier::python {

/// Makes the settings of a task ("expand", "answer", "annotate") from a dictionary. Raises ValueError that names an
/// unknown or bad one.
run::Settings make_settings(const std::string& task, const py::dict& values);

}  // namespace espalier::python
