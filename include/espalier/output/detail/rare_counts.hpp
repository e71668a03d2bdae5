#pragma once

#include <espalier/core/ledger.hpp>

#include <cstdint>
#include <utility>

namespace espalier::output::detail {

/// The counts of a purpose that a file shows only where they are not 0, by their names in files.
inline constexpr std::pair<const char*, std::uint64_t Costs::*> rare_counts[] = {
    {"unread", &Costs::unread},           {"cut", &Costs::cut},
    {"cut_read", &Costs::cut_read},       {"refused", &Costs::refused},
    {"repairs", &Costs::repairs},         {"repaired", &Costs::repaired},
    {"constrained", &Costs::constrained}, {"thinking_tokens", &Costs::thinking_tokens}};

}  // namespace espalier::output::detail
