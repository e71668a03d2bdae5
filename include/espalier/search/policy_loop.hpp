#pragma once

#include <espalier/policy/prune.hpp>
#include <espalier/search/layered.hpp>

namespace espalier {

/// Values nothing: for searches that follow a policy.
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

/// Follows the policy to its end, one sample a step.
class PolicyLoop : public Layered<NoValue, KeepAll, KeepAll, TopK> {
 public:
  explicit PolicyLoop(std::uint64_t max_calls = 0, std::uint64_t max_tokens = 0)
      : Layered({.width = 1, .max_calls = max_calls, .max_tokens = max_tokens}, NoValue(), KeepAll(), KeepAll(), TopK(1)) {}
};

}  // namespace espalier
