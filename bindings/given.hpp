#pragma once

#include <espalier/run/settings.hpp>

#include "bindings.hpp"

#include <optional>
#include <string>

namespace espalier::python {

/// The identity of a backend: the fingerprint that a user gave, or that of a part.
template <class In, class Out>
std::optional<Hash> identity(const py::object& backend, const std::optional<std::string>& given);

/// Makes the backends of a run from a dictionary: model, model:PURPOSE, retriever, encoder, values -> (part or
/// function, fingerprint or None, label, function that makes it ready or None). Raises TypeError for anything else.
run::Settings::GivenBackends make_given(const py::dict& backends);

}  // namespace espalier::python
