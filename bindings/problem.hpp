#pragma once

#include <espalier/core/tree.hpp>

#include "bindings.hpp"

namespace espalier::python {

/// A state of a problem written in Python, with its legal kinds, one byte each.
struct ProblemState {
  py::object object;
  py::bytes kinds;
};

/// An action of a problem written in Python, None at the root.
struct ProblemAction {
  py::object object = py::none();
  friend bool operator==(const ProblemAction& a, const ProblemAction& b) {
    return a.object.is(b.object) || a.object.equal(b.object);
  }
};

using ProblemTree = Tree<ProblemState, ProblemAction>;

}  // namespace espalier::python
