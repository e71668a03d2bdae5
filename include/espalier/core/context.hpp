#pragma once

#include <espalier/core/ledger.hpp>
#include <espalier/core/seed.hpp>

#include <cstdint>
#include <limits>
#include <memory>

namespace espalier {

/// Where in a search a call is made. Functions of environments and evaluators may take it as their last argument.
class Context {
 public:
  /// Where the ledger has a budget, make it at a moment that no order of completion can change: before the calls of a
  /// step start, or after all of them. `kept` calls of the budget are kept back for later.
  Context(Seed seed, std::uint32_t first, Ledger* ledger, std::uint64_t kept = 0)
      : seed(seed), first(first), ledger(ledger) {
    if (!ledger->calls_left) return;
    Ledger::Costs all = ledger->total();
    all.completions += kept;
    if (ledger->before) all += ledger->before->total();
    spent_ = std::make_shared<const Ledger::Costs>(all);
  }
  Seed seed;            ///< of the node: (run seed, question id, node path)
  std::uint32_t first;  ///< index of the first sample to draw, earlier samples exist already
  Ledger* ledger;       ///< where to enter the costs of the call, never null

  [[nodiscard]] Context under(Seed other) const {
    Context there = *this;
    there.seed = other;
    return there;
  }
  [[nodiscard]] Context from(std::uint32_t sample) const {
    Context later = *this;
    later.first = sample;
    return later;
  }
  /// How many more completions the budget pays for, after `more` costs on top of those when this place was reached.
  [[nodiscard]] std::uint64_t calls_left(Ledger::Costs more) const {
    if (!spent_) return std::numeric_limits<std::uint64_t>::max();
    more += *spent_;
    return ledger->calls_left(more);
  }

 private:
  std::shared_ptr<const Ledger::Costs> spent_;  ///< by the whole search when this place was reached, null = no budget
};

}  // namespace espalier
