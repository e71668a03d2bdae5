#pragma once

#include <espalier/core/ledger.hpp>
#include <espalier/fmt/one_line.hpp>

#include <fmt/format.h>

#include <iterator>
#include <string>

namespace espalier::detail {

inline std::string costs_text(const Ledger::Costs& costs) {
  std::string text = fmt::format("completions {}, prompt tokens {}, completion tokens {}, retrievals {}",
                                 costs.completions, costs.prompt_tokens, costs.completion_tokens, costs.retrievals);
  if (costs.unread > 0) fmt::format_to(std::back_inserter(text), ", unread {}", costs.unread);
  if (costs.cut > 0) fmt::format_to(std::back_inserter(text), " (cut {})", costs.cut);
  if (costs.cut_read > 0) fmt::format_to(std::back_inserter(text), ", cut but read {}", costs.cut_read);
  if (costs.refused > 0) fmt::format_to(std::back_inserter(text), ", refused {}", costs.refused);
  if (costs.repairs > 0)
    fmt::format_to(std::back_inserter(text), ", repairs {} (read {})", costs.repairs, costs.repaired);
  if (costs.constrained > 0) fmt::format_to(std::back_inserter(text), ", constrained {}", costs.constrained);
  return text;
}

inline std::string ledger_text(const Ledger& ledger) {
  std::string purposes;
  for (const auto& [purpose, costs] : ledger.by_purpose())
    fmt::format_to(std::back_inserter(purposes), "{}{} {}", purposes.empty() ? "" : ", ", one_line(purpose),
                   costs.completions);
  return costs_text(ledger.total()) + (purposes.empty() ? "" : fmt::format("; completions by purpose: {}", purposes));
}

inline std::string accounts_text(const Accounts& accounts) {
  return fmt::format("logical {}: paid {}, cached {}, shared {}, failed {}; paid for nothing {}; requests {}",
                     accounts.logical, accounts.paid_applied, accounts.cached, accounts.shared, accounts.failed,
                     accounts.paid_cancelled + accounts.paid_failed, accounts.requests);
}

}  // namespace espalier::detail

/// The costs of one purpose on one line.
template <>
struct fmt::formatter<espalier::Ledger::Costs> : espalier::detail::Described<&espalier::detail::costs_text> {};

/// The sum of all purposes on one line, and the completions of each.
template <>
struct fmt::formatter<espalier::Ledger> : espalier::detail::Described<&espalier::detail::ledger_text> {};

/// How the requests of a run were answered, on one line.
template <>
struct fmt::formatter<espalier::Accounts> : espalier::detail::Described<&espalier::detail::accounts_text> {};
