#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/rag/rewards.hpp>

#include "bindings.hpp"

#include <utility>

namespace espalier::python {

/// The end of a search or rollout, on its way to a Python reward; shared with no other.
struct RewardRequest {
  explicit RewardRequest(rag::State end) : state(std::move(end)) {}
  rag::State state;
};

/// A shipped reward, or a Python function of a list of states, called once a batch across all trees of the scheduler.
/// Throws py::type_error if it is neither.
rag::AnyReward make_reward(const py::object& reward, Scheduler& scheduler);

}  // namespace espalier::python
