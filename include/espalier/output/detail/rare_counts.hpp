#pragma once

#include <espalier/core/ledger.hpp>

#include <cstdint>
#include <utility>

namespace espalier::output::detail {

/// The counts of a purpose that a file shows only where they are not 0, by their names in files.
inline constexpr std::pair<const char*, std::uint64_t Ledger::Costs::*> rare_counts[] = {
    {"unread", &Ledger::Costs::unread},           {"cut", &Ledger::Costs::cut},
    {"cut_read", &Ledger::Costs::cut_read},       {"refused", &Ledger::Costs::refused},
    {"repairs", &Ledger::Costs::repairs},         {"repaired", &Ledger::Costs::repaired},
    {"constrained", &Ledger::Costs::constrained}, {"thinking_tokens", &Ledger::Costs::thinking_tokens}};

}  // namespace espalier::output::detail
