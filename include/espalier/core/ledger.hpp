#pragma once

#include <espalier/core/seed.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace espalier {

/// Logical costs by purpose. Stored in the tree. Independent of caches, retries and clocks.
class Ledger {
 public:
  /// Logical costs of one purpose: what a search asked for, whoever paid.
  struct Costs {
    std::uint64_t completions = 0;  ///< sampled texts ("calls" in the papers)
    std::uint64_t prompt_tokens = 0;
    std::uint64_t completion_tokens = 0;
    std::uint64_t retrievals = 0;       ///< queries to the retriever
    std::uint64_t unread = 0;           ///< completions that could not be read
    std::uint64_t cut = 0;              ///< of these, the ones that max_tokens ended
    std::uint64_t cut_read = 0;         ///< completions that max_tokens ended, and that could be read
    std::uint64_t refused = 0;          ///< answers from memory that said "I don't know"
    std::uint64_t repairs = 0;          ///< completions that were asked because the one before could not be read
    std::uint64_t repaired = 0;         ///< of these, the ones that could be read
    std::uint64_t constrained = 0;      ///< completions whose decoding a grammar constrained
    std::uint64_t thinking_tokens = 0;  ///< of completion_tokens, those of thoughts aside, where the server counts them

    Costs& operator+=(const Costs& o) {
      for (const auto field : fields()) this->*field += o.*field;
      return *this;
    }
    [[nodiscard]] bool holds(const Costs& part) const {
      return std::ranges::all_of(fields(), [&](const auto field) { return this->*field >= part.*field; });
    }
    Costs& operator-=(const Costs& o) {
      for (const auto field : fields()) this->*field -= o.*field;
      return *this;
    }
    friend bool operator==(const Costs&, const Costs&) = default;

   private:
    static constexpr std::array<std::uint64_t Costs::*, 12> fields() {
      return {&Costs::completions, &Costs::prompt_tokens, &Costs::completion_tokens, &Costs::retrievals,
              &Costs::unread,      &Costs::cut,           &Costs::cut_read,          &Costs::refused,
              &Costs::repairs,     &Costs::repaired,      &Costs::constrained,       &Costs::thinking_tokens};
    }
  };

  /// A completion that could not be read, as a tree remembers it.
  class Unread {
   public:
    static constexpr std::size_t kept = 200;  ///< bytes of its text at most, cut between two UTF-8 characters

    /// One that was drawn under this seed and sample index. `max_tokens`: the limit that ended it, 0 = none.
    Unread(std::string_view whole, std::uint64_t max_tokens, Seed seed, std::uint32_t sample)
        : text(beginning(whole)), cut_at(max_tokens), rank_(seed.rank()), seed_(seed.value()), sample_(sample) {}

    std::string text;          ///< its beginning
    std::uint64_t cut_at = 0;  ///< the limit max_tokens that ended it, 0 = none
    bool in_thought = false;   ///< that limit ended it inside a thought

    /// True if it is nearer to the root, or of the earlier sibling or sample. This order does not depend on time. One
    /// that was read from a file goes before all others, because a file does not say where it was drawn.
    template <class = void>
    [[nodiscard]] bool before(const Unread& other) const {  // a template: only who calls it compiles it
      return std::tie(rank_, seed_, sample_, text, cut_at) <
             std::tie(other.rank_, other.seed_, other.sample_, other.text, other.cut_at);
    }
    friend bool operator==(const Unread& a, const Unread& b) {
      return a.text == b.text && a.cut_at == b.cut_at && a.in_thought == b.in_thought;
    }

   private:
    static std::string_view beginning(std::string_view text) {
      std::size_t size = text.size();
      if (size > kept)
        for (size = kept; size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80;) --size;
      return text.substr(0, size);
    }

    std::uint64_t rank_ = 0, seed_ = 0;
    std::uint32_t sample_ = 0;
  };

  /// What was spent on a question before a search of it began.
  struct Spending {
    Spending() = default;
    Spending(Costs costs, double seconds, double densest = 0) : costs(costs), seconds(seconds), densest(densest) {}
    Costs costs{};
    double seconds = 0;
    double densest = 0;  ///< the most prompt tokens for a byte, 0 = none were reported
  };

  /// Counts that depend on the run and not on the search. Never compared and never written into a tree.
  struct Execution {
    std::uint64_t cached = 0;                           ///< completions that came from a journal
    std::uint64_t attempts = 0;                         ///< requests sent to servers
    std::map<std::string, std::uint64_t> ungoverned{};  ///< whole replies that broke their grammar, by purpose
    /// Prompt tokens where servers say which of them they had read before.
    struct Prompts {
      std::uint64_t reused = 0;  ///< read before
      std::uint64_t read = 0;    ///< the others
    };
    std::map<std::string, Prompts> prompts{};  ///< by purpose
  };
  Execution execution;
  /// The costs of the whole search when this part of it began, null = none. Neither added nor compared, as calls_left.
  std::shared_ptr<const Ledger> before{};
  /// calls_left(costs of the whole search) -> how many more completions its budget pays for. Empty = no budget.
  std::function<std::uint64_t(const Costs&)> calls_left{};
  /// The most prompt tokens for a byte of a prompt's text so far, 0 = none were reported. Never compared.
  double densest = 0;
  /// Tokens of a prompt of so many bytes, if it is as dense as the densest one so far, at first as English.
  [[nodiscard]] std::uint64_t prompt_tokens(std::size_t bytes) const {
    constexpr double english = 0.25;  // tokens for a byte
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * (densest > 0 ? densest : english)));
  }
  /// Begins a part of a search with these costs so far.
  template <class = void>
  void follow(const Ledger& search) {
    before = std::make_shared<const Ledger>(search);
    calls_left = search.calls_left;
  }
  bool refused = false;  ///< a call was left out, because a budget could not pay for it. Never compared

  Costs& operator[](std::string_view purpose) {
    auto it = by_purpose_.find(purpose);
    return it != by_purpose_.end() ? it->second : by_purpose_.emplace(std::string(purpose), Costs{}).first->second;
  }
  [[nodiscard]] const std::map<std::string, Costs, std::less<>>& by_purpose() const { return by_purpose_; }
  /// The first completion of each purpose that could not be read, if there is one.
  [[nodiscard]] const std::map<std::string, Unread, std::less<>>& first_unread() const { return first_unread_; }
  /// Counts a completion that could not be read.
  template <class = void>
  void add_unread(std::string_view purpose, Unread one) {
    Costs& costs = (*this)[purpose];
    ++costs.unread;
    costs.cut += one.cut_at > 0;
    remember(std::string(purpose), std::move(one));
  }
  /// Keeps it if it is the purpose's first, whatever the order in which they come.
  template <class = void>
  void remember(std::string purpose, Unread one) {
    const auto [it, fresh] = first_unread_.try_emplace(std::move(purpose), one);
    if (!fresh && one.before(it->second)) it->second = std::move(one);
  }
  [[nodiscard]] Costs total() const {
    Costs sum;
    for (const auto& [purpose, costs] : by_purpose_) sum += costs;
    return sum;
  }
  template <class = void>
  Ledger& operator+=(const Ledger& o) {
    for (const auto& [purpose, costs] : o.by_purpose_) (*this)[purpose] += costs;
    for (const auto& [purpose, one] : o.first_unread_) remember(purpose, one);
    execution.cached += o.execution.cached;
    execution.attempts += o.execution.attempts;
    for (const auto& [purpose, count] : o.execution.ungoverned) execution.ungoverned[purpose] += count;
    for (const auto& [purpose, more] : o.execution.prompts) {
      execution.prompts[purpose].reused += more.reused;
      execution.prompts[purpose].read += more.read;
    }
    densest = std::max(densest, o.densest);
    refused = refused || o.refused;
    return *this;
  }
  [[nodiscard]] bool holds(const Ledger& part) const {
    for (const auto& [purpose, costs] : part.by_purpose_) {
      const auto own = by_purpose_.find(purpose);
      if (own == by_purpose_.end() || !own->second.holds(costs)) return false;
    }
    return true;
  }
  /// Takes out a part that these costs hold. What was executed stays executed.
  template <class = void>
  Ledger& operator-=(const Ledger& part) {
    for (const auto& [purpose, costs] : part.by_purpose_) {
      const Costs left = (*this)[purpose] -= costs;
      if (left == Costs{}) by_purpose_.erase(by_purpose_.find(purpose));
      if (left.unread == 0) std::erase_if(first_unread_, [&](const auto& entry) { return entry.first == purpose; });
    }
    return *this;
  }
  friend bool operator==(const Ledger& a, const Ledger& b) {
    return a.by_purpose_ == b.by_purpose_ && a.first_unread_ == b.first_unread_;
  }

 private:
  std::map<std::string, Costs, std::less<>> by_purpose_;
  std::map<std::string, Unread, std::less<>> first_unread_;
};

namespace detail {

/// The counts of a purpose that a file shows only where they are not 0, by their names in files.
inline constexpr std::pair<const char*, std::uint64_t Ledger::Costs::*> rare_counts[] = {
    {"unread", &Ledger::Costs::unread},           {"cut", &Ledger::Costs::cut},
    {"cut_read", &Ledger::Costs::cut_read},       {"refused", &Ledger::Costs::refused},
    {"repairs", &Ledger::Costs::repairs},         {"repaired", &Ledger::Costs::repaired},
    {"constrained", &Ledger::Costs::constrained}, {"thinking_tokens", &Ledger::Costs::thinking_tokens}};

}  // namespace detail

/// How the requests of a run were answered (page "contracts"). logical = paid_applied + cached + shared + failed.
struct Accounts {
  std::uint64_t logical = 0;         ///< requests of searches that were answered or failed
  std::uint64_t cached = 0;          ///< answered from a journal
  std::uint64_t shared = 0;          ///< answered together with an identical request in flight
  std::uint64_t failed = 0;          ///< failed, so a tree stays open
  std::uint64_t paid_applied = 0;    ///< answered by the backend and used
  std::uint64_t paid_cancelled = 0;  ///< paid, but no search waited for it any more
  std::uint64_t paid_failed = 0;     ///< paid, but not usable
  std::uint64_t requests = 0;        ///< messages to a server, retries included
  std::uint64_t flushes = 0;         ///< calls of a synchronous batch function
  std::uint64_t renewed = 0;         ///< failures that an older journal held as answers, asked again
  std::uint64_t replaced = 0;        ///< U+FFFD in replies for what was no Unicode

  Accounts& operator+=(const Accounts& o) {
    logical += o.logical, cached += o.cached, shared += o.shared, failed += o.failed;
    paid_applied += o.paid_applied, paid_cancelled += o.paid_cancelled, paid_failed += o.paid_failed;
    requests += o.requests, flushes += o.flushes, renewed += o.renewed, replaced += o.replaced;
    return *this;
  }
};

}  // namespace espalier
