#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/rag/rewards.hpp>

#include "bindings.hpp"

#include <utility>

namespace espalier::python {

/// The end of a search or rollout for a Python reward. Never shared.
struct RewardRequest {
  explicit RewardRequest(rag::State end) : state(std::move(end)) {}
  rag::State state;
};

/// One of our rewards, or a Python function of a list of states, called once per batch over all trees of the scheduler.
/// Throws py::type_error for anything else.
rag::AnyReward make_reward(const py::object& reward, Scheduler& scheduler);

}  // namespace espalier::python
