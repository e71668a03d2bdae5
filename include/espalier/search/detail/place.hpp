#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/tree.hpp>

#include <cstdint>

namespace espalier::detail {

/// A node that a search has reached, with its seed and depth.
struct Place {
  NodeId node = 0;
  Seed seed{};
  std::uint32_t depth = 0;
};

/// The state that a proposal leads to. One that could not be read leads nowhere. The proposal must outlive the task.
template <class Env, class Item>
Task<typename Env::State> step_or_stay(Env& env, const typename Env::State& from, const Item& proposal,
                                       const Context& context) {
  if (proposal.closed != Reason::none) return as_task(typename Env::State(from));
  return as_task(step(env, from, proposal.action, context));
}

}  // namespace espalier::detail
