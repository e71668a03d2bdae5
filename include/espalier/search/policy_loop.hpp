#pragma once

#include <espalier/policy/prune.hpp>
#include <espalier/search/layered.hpp>

namespace espalier {

namespace detail {

/// Values nothing. For searches that only follow a policy.
struct NoValue {
  template <class Env>
  bool wants(Env&, const typename Env::State&) const {
    return false;
  }
  template <class Env>
  double operator()(Env&, const typename Env::State&) const {
    return 0;
  }
};

}  // namespace detail

/// Follows the policy to its end, with one sample per step.
class PolicyLoop : public Layered<detail::NoValue, KeepAll, KeepAll, TopK> {
 public:
  explicit PolicyLoop(Budget budget = Budget())
      : Layered({.width = 1, .budget = std::move(budget)}, detail::NoValue(), KeepAll(), KeepAll(), TopK(1)) {}
};

}  // namespace espalier
