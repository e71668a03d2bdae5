#pragma once

#include <espalier/policy/any_pruning.hpp>

#include "bindings.hpp"

namespace espalier::python {

/// What `prune=` takes in Python, None included. Raises TypeError for anything else.
AnyPruning make_pruning(const py::object& policy);

}  // namespace espalier::python
