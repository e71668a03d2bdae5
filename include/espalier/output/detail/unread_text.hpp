#pragma once

#include <espalier/core/ledger.hpp>

#include <string>

namespace espalier::output::detail {

/// Which completions could not be read, for people: of the purpose with the largest share of such ones, how many, and
/// how the first begins. Empty if all could be read.
inline std::string unread_text(const Ledger& ledger) {
  const Ledger::Costs* most = nullptr;
  std::string worst;
  for (const auto& [purpose, costs] : ledger.by_purpose()) {
    if (costs.unread == 0) continue;
    const auto share = [](const Ledger::Costs& c) {
      return static_cast<double>(c.unread) / static_cast<double>(c.completions);
    };
    if (most != nullptr &&
        (share(costs) < share(*most) || (share(costs) == share(*most) && costs.unread <= most->unread)))
      continue;
    most = &costs;
    worst = purpose;
  }
  if (most == nullptr) return {};
  std::string text = std::to_string(most->unread) + " of " + std::to_string(most->completions) + " completions of '" +
                     worst + "' could not be read";
  if (most->cut > 0) text += ", " + std::to_string(most->cut) + " of them cut by max_tokens";
  const auto first = ledger.first_unread().find(worst);
  if (first == ledger.first_unread().end()) return text;
  text += "; the first";
  if (first->second.cut_at > 0) {
    text += first->second.in_thought ? ", cut in its thought at max_tokens=" : ", cut at max_tokens=";
    text += std::to_string(first->second.cut_at);
  }
  return text + (first->second.text.empty() ? ", is empty" : ": \"" + first->second.text + '"');
}

}  // namespace espalier::output::detail
