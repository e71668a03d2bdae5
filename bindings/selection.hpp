#pragma once

#include <espalier/policy/select.hpp>

namespace espalier::python {

/// A selection policy that keeps its options for the provenance.
template <class Policy>
struct Chosen : Policy {
  explicit Chosen(typename Policy::Options numbers = {}) : Policy(numbers), options(numbers) {}
  typename Policy::Options options;
};

}  // namespace espalier::python
