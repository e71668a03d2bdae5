#pragma once

#include <espalier/core/tree.hpp>

#include <cstdint>

namespace espalier::detail {

/// A node that a search has reached, with its seed and depth.
struct Place {
  NodeId node = 0;
  Seed seed{};
  std::uint32_t depth = 0;
};

}  // namespace espalier::detail
