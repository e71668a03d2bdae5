#pragma once

#include <espalier/core/ledger.hpp>

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string>

namespace espalier::run::detail {

/// The probes of `constrain = auto`, by purpose. They belong to no question.
class Probes {
 public:
  Probes() = default;
  /// As text() wrote them.
  explicit Probes(const std::string& text) {
    std::istringstream in(text);
    std::string purpose;
    Ledger::Costs costs;
    while (in >> purpose >> costs.completions >> costs.unread >> costs.prompt_tokens >> costs.completion_tokens)
      by_purpose[purpose] = costs;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [purpose, costs] : by_purpose)
      out += fmt::format("{}{} {} {} {} {}", out.empty() ? "" : " ", purpose, costs.completions, costs.unread,
                         costs.prompt_tokens, costs.completion_tokens);
    return out;
  }
  std::map<std::string, Ledger::Costs> by_purpose;
};

}  // namespace espalier::run::detail
