#pragma once

#include <cstdint>
#include <string>

namespace espalier {

/// What to tell the user whose exploration term decided nothing; empty if it decided something, or had nothing to decide.
/// The counts are `choices` and `explored` of a tree, or their sums over a run's trees.
inline std::string exploration_warning(std::uint64_t choices, std::uint64_t explored) {
  if (choices == 0 || explored > 0) return "";
  return "exploration changed none of " + std::to_string(choices) +
         " choices: its weight is small beside the differences of the values; raise it, or normalise the values";
}

}  // namespace espalier
