#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/rag/rewards.hpp>

#include "bindings.hpp"

#include <utility>

namespace espalier::python {

/// The end of a search or rollout, on its way to a Python reward. No two are one request.
class RewardRequest {
 public:
  explicit RewardRequest(rag::State end) : state(std::move(end)), number_(++count()) {}
  rag::State state;
  [[nodiscard]] Hash key() const { return Hash{0, number_}; }

 private:
  static std::uint64_t& count() {
    static std::uint64_t made = 0;
    return made;
  }
  std::uint64_t number_;
};

/// A shipped reward, or a Python function of a list of states, called once a batch across all trees of the scheduler.
/// Throws py::type_error if it is neither.
rag::AnyReward make_reward(const py::object& reward, Scheduler& scheduler);

}  // namespace espalier::python
