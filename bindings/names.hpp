#pragma once

#include <espalier/core/error.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace espalier::python {

/// Names of an option's values, in the order of its enumeration.
template <std::size_t n>
using Names = std::array<const char*, n>;
/// Those of MctsOptions::Values.
inline constexpr Names<5> valued_nodes{"first", "each", "leaf", "alike", "all"};

/// The value with this name.
template <class Value, class All>
Value named(const char* option, const std::string& name, const All& names) {
  std::string allowed;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Value>(i);
    allowed += (i ? ", " : "") + std::string(names[i]);
  }
  bad_option(option, name, allowed);
}
template <class Value, class All>
const char* name_of(Value value, const All& names) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace espalier::python
