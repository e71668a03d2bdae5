#pragma once

#include <espalier/core/ledger.hpp>
#include <espalier/core/seed.hpp>

#include <cstdint>

namespace espalier {

/// Where in a search a call is made: an optional last argument of an environment's and an evaluator's functions.
class Context {
 public:
  Context(Seed seed, std::uint32_t first, Ledger* ledger) : seed(seed), first(first), ledger(ledger) {}
  Seed seed;            ///< of the node: (run seed, question id, node path)
  std::uint32_t first;  ///< index of the first sample to draw; the samples before it exist already
  Ledger* ledger;       ///< where to enter what the call costs; never null

  [[nodiscard]] Context under(Seed other) const { return Context(other, first, ledger); }
  [[nodiscard]] Context from(std::uint32_t sample) const { return Context(seed, sample, ledger); }
};

}  // namespace espalier
