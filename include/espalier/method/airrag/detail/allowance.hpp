#pragma once

#include <espalier/rag/text.hpp>
#include <espalier/search/budget.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The queries that wait on a path, and what its search may still spend.
namespace espalier::method::detail {

/// A line without the number or bullet that begins it: "1. Where?" and "- Where?" are "Where?".
inline std::string_view without_number(std::string_view line) {
  line = rag::detail::strip(line);
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const bool numbered = digits > 0 && digits + 1 < line.size() && (line[digits] == '.' || line[digits] == ')');
  const bool bullet = digits == 0 && line.size() > 1 && (line[0] == '-' || line[0] == '*');
  const std::size_t mark = numbered ? digits + 1 : bullet ? 1 : 0;
  return mark > 0 && line[mark] == ' ' ? rag::detail::strip(line.substr(mark)) : line;
}

/// The different lines of a list of queries, without those whose normal form is in `answered`. Empty for "None".
inline std::vector<std::string> fresh_queries(const std::string& text, std::set<std::string> answered) {
  std::vector<std::string> queries;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string_view query = without_number(line);
    std::string form = rag::normalise(query);
    if (!query.empty() && form != "none" && answered.insert(std::move(form)).second) queries.emplace_back(query);
  }
  return queries;
}

/// What a search may still spend, as seen from inside one of its simulations. A prompt of known size is taken to be as
/// dense as the densest one of the search so far. Its reply is as long as those of the purpose with the longest ones,
/// in the mean. The prompts of a choice are not known yet. Each is taken to cost as much as those of the dearest
/// purpose, and as the retrieval answers whose documents it shows.
class Allowance {
 public:
  /// `costs` are those of the simulation, which know those of the search before it. `earlier`: before that search.
  Allowance(const Budget& budget, const Ledger& costs, const Ledger::Spending& earlier)
      : budget_(budget), costs_(costs), earlier_(earlier.costs) {
    if (costs.before) costs_ += *costs.before;
    costs_.densest = std::max(costs_.densest, earlier.densest);
  }
  /// True if n calls can be paid for, each with the documents of so many retrievals.
  [[nodiscard]] bool affords(std::uint32_t n, std::uint32_t retrievals) const { return affords(cost(n, retrievals)); }
  [[nodiscard]] bool affords(Ledger::Costs more) const {
    more += earlier_;
    return budget_.affords(costs_.total(), more);
  }
  /// The costs of n calls with a prompt of so many bytes.
  [[nodiscard]] Ledger::Costs calls(std::uint32_t n, std::size_t bytes) const {
    return {.completions = n,
            .prompt_tokens = n * costs_.prompt_tokens(bytes),
            .completion_tokens = cost(n, 1).completion_tokens};
  }
  /// The costs of n calls of a purpose, each as the mean so far. The first ones have a prompt of so many bytes.
  [[nodiscard]] Ledger::Costs calls(std::uint32_t n, const std::string& purpose, std::size_t bytes) const {
    if (!made(purpose)) return calls(n, bytes);
    Ledger::Costs sum{.completions = n};
    const Ledger::Costs& own = costs_.by_purpose().find(purpose)->second;
    sum.prompt_tokens = n * mean(own.prompt_tokens, own.completions);
    sum.completion_tokens = n * mean(own.completion_tokens, own.completions);
    return sum;
  }
  [[nodiscard]] bool made(const std::string& purpose) const {
    const auto own = costs_.by_purpose().find(purpose);
    return own != costs_.by_purpose().end() && own->second.completions > 0;
  }

 private:
  [[nodiscard]] Ledger::Costs cost(std::uint32_t calls, std::uint32_t retrievals) const {
    Ledger::Costs sum;
    sum.completions = calls;
    for (const auto& [purpose, costs] : costs_.by_purpose()) {
      if (costs.completions == 0) continue;
      const std::uint64_t shown = purpose == "ra" ? std::max<std::uint64_t>(retrievals, 1) : 1;
      const std::uint64_t prompt = mean(costs.prompt_tokens, costs.completions);
      const std::uint64_t reply = mean(costs.completion_tokens, costs.completions);
      sum.prompt_tokens = std::max(sum.prompt_tokens, calls * shown * prompt);
      sum.completion_tokens = std::max(sum.completion_tokens, calls * shown * reply);
    }
    return sum;
  }
  static std::uint64_t mean(std::uint64_t all, std::uint64_t n) { return (all + n - 1) / n; }  // rounded up
  Budget budget_;
  Ledger costs_;
  Ledger::Costs earlier_;
};

}  // namespace espalier::method::detail
