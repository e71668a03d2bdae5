#pragma once

#include <espalier/policy/prune.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/detail/tree_search.hpp>
#include <espalier/search/layered.hpp>

#include <utility>

namespace espalier {

/// Follows the policy to its end, with one sample per step.
class PolicyLoop : public Layered<detail::NoValue, KeepAll, KeepAll, TopK> {
 public:
  explicit PolicyLoop(Budget budget = Budget())
      : Layered({.width = 1, .budget = std::move(budget)}, detail::NoValue(), KeepAll(), KeepAll(), TopK(1)) {}
};

}  // namespace espalier
