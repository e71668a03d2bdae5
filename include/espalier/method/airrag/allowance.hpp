#pragma once

#include <espalier/search/budget.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace espalier::method::detail {

/// What a search may still spend, as seen from inside one of its simulations. A call to come is taken to cost as much
/// as the dearest purpose so far, in the mean of its calls. A call that shows the documents of several retrievals costs
/// as many retrieval answers, if that is more.
class Allowance {
 public:
  /// `costs` are those of the simulation, which know those of the search before it. `earlier` were spent on the
  /// question before the search.
  Allowance(const Budget& budget, const Ledger& costs, const Spending& earlier)
      : budget_(budget), costs_(costs), earlier_(earlier.costs) {
    if (costs.before) costs_ += *costs.before;
  }
  /// True if calls can be paid for: how many, and of how many retrievals each shows the documents.
  [[nodiscard]] bool affords(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> calls) const {
    Costs more = earlier_;
    for (const auto& [n, retrievals] : calls) more += cost(n, retrievals);
    return budget_.affords(costs_.total(), more);
  }
  /// True if a call of this purpose was made.
  [[nodiscard]] bool made(const std::string& purpose) const {
    const auto own = costs_.by_purpose().find(purpose);
    return own != costs_.by_purpose().end() && own->second.completions > 0;
  }

 private:
  [[nodiscard]] Costs cost(std::uint32_t calls, std::uint32_t retrievals) const {
    Costs sum;
    sum.completions = calls;
    for (const auto& [purpose, costs] : costs_.by_purpose()) {
      if (costs.completions == 0) continue;
      const std::uint64_t shown = purpose == "ra" ? std::max<std::uint64_t>(retrievals, 1) : 1;
      const auto mean = [&](std::uint64_t all) { return shown * (all + costs.completions - 1) / costs.completions; };
      sum.prompt_tokens = std::max(sum.prompt_tokens, calls * mean(costs.prompt_tokens));
      sum.completion_tokens = std::max(sum.completion_tokens, calls * mean(costs.completion_tokens));
    }
    return sum;
  }
  Budget budget_;
  Ledger costs_;
  Costs earlier_;
};

}  // namespace espalier::method::detail
