#pragma once

#include <cstdint>
#include <string>

namespace espalier::detail {

/// A warning if the exploration term changed no choice, else an empty text. Also empty if there was nothing to choose.
/// The counts are `choices` and `explored` of a tree, or their sums over the trees of a run.
inline std::string exploration_warning(std::uint64_t choices, std::uint64_t explored) {
  if (choices == 0 || explored > 0) return "";
  return "exploration changed none of " + std::to_string(choices) +
         " choices: its weight is small beside the differences of the values; raise it, or normalise the values";
}

}  // namespace espalier::detail
