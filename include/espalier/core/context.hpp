#pragma once

#include <espalier/core/ledger.hpp>
#include <espalier/core/seed.hpp>

#include <cstdint>

namespace espalier {

/// The place in a search from which a call is made. An optional last argument of the functions of environments and
/// evaluators.
class Context {
 public:
  Context(Seed seed, std::uint32_t first, Ledger* ledger) : seed(seed), first(first), ledger(ledger) {}
  Seed seed;            ///< of the node: (run seed, question id, node path)
  std::uint32_t first;  ///< index of the first sample to draw, earlier samples exist already
  Ledger* ledger;       ///< where to enter the costs of the call, never null

  [[nodiscard]] Context under(Seed other) const { return Context(other, first, ledger); }
  [[nodiscard]] Context from(std::uint32_t sample) const { return Context(seed, sample, ledger); }
};

}  // namespace espalier
