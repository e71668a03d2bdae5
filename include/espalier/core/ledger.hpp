#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace espalier {

/// Logical costs of one purpose: what a search asked for, whoever paid.
struct Costs {
  std::uint64_t completions = 0;  ///< sampled texts ("calls" in the papers)
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t retrievals = 0;  ///< queries to the retriever

  Costs& operator+=(const Costs& o) {
    completions += o.completions;
    prompt_tokens += o.prompt_tokens;
    completion_tokens += o.completion_tokens;
    retrievals += o.retrievals;
    return *this;
  }
  friend bool operator==(const Costs&, const Costs&) = default;
};

/// Logical costs by purpose. Lives in the tree; independent of caches, retries and clocks, which stand beside it.
class Ledger {
 public:
  /// What depends on the run and not on the search; never compared, never written into a tree.
  struct Execution {
    std::uint64_t cached = 0;    ///< completions that a journal gave
    std::uint64_t attempts = 0;  ///< requests sent to servers
  };
  Execution execution;

  Costs& operator[](std::string_view purpose) {
    auto it = by_purpose_.find(purpose);
    return it != by_purpose_.end() ? it->second : by_purpose_.emplace(std::string(purpose), Costs{}).first->second;
  }
  [[nodiscard]] const std::map<std::string, Costs, std::less<>>& by_purpose() const { return by_purpose_; }
  [[nodiscard]] Costs total() const {
    Costs sum;
    for (const auto& [purpose, costs] : by_purpose_) sum += costs;
    return sum;
  }
  Ledger& operator+=(const Ledger& o) {
    for (const auto& [purpose, costs] : o.by_purpose_) (*this)[purpose] += costs;
    execution.cached += o.execution.cached;
    execution.attempts += o.execution.attempts;
    return *this;
  }
  friend bool operator==(const Ledger& a, const Ledger& b) { return a.by_purpose_ == b.by_purpose_; }

 private:
  std::map<std::string, Costs, std::less<>> by_purpose_;
};

/// Execution counts of a run: requests that trees made, and how they were answered (contracts: accounting).
/// logical = paid_applied + cached + shared + failed.
struct Accounts {
  std::uint64_t logical = 0;         ///< requests that searches made and that were answered or failed
  std::uint64_t cached = 0;          ///< answered from a journal
  std::uint64_t shared = 0;          ///< answered by an identical request in flight
  std::uint64_t failed = 0;          ///< left a tree open
  std::uint64_t paid_applied = 0;    ///< answered by the backend and used
  std::uint64_t paid_cancelled = 0;  ///< paid, but nobody waited any more
  std::uint64_t paid_failed = 0;     ///< paid, but unusable
  std::uint64_t requests = 0;        ///< messages to a server, retries included
  std::uint64_t flushes = 0;         ///< calls of a synchronous batch function

  Accounts& operator+=(const Accounts& o) {
    logical += o.logical, cached += o.cached, shared += o.shared, failed += o.failed;
    paid_applied += o.paid_applied, paid_cancelled += o.paid_cancelled, paid_failed += o.paid_failed;
    requests += o.requests, flushes += o.flushes;
    return *this;
  }
};

}  // namespace espalier
