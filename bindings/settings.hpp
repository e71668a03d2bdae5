#pragma once

#include <espalier/run/settings.hpp>

#include "errors.hpp"

#include <string>

namespace espalier::python {

/// Makes the backends of a run from a dictionary: model, model:PURPOSE, retriever, encoder, values -> (part or
/// function, fingerprint or None, label, function that makes it ready or None). Raises TypeError for anything else.
run::Settings::GivenBackends make_given(const py::dict& backends);

/// Makes the settings of a task ("expand", "answer", "annotate") from a dictionary. Raises ValueError that names an
/// unknown or bad one.
run::Settings make_settings(const std::string& task, const py::dict& values);

}  // namespace espalier::python
