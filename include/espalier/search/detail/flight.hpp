#pragma once

#include <espalier/core/concepts.hpp>
#include <espalier/core/task.hpp>
#include <espalier/search/detail/mcts_growth.hpp>

#include <cstdint>
#include <exception>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::detail {

/// A simulation under way. Its tasks use copies, because the tree moves its states as it grows.
template <class Env, class Result>
struct Flight {
  Flight() { done.happen(); }
  Place place{};                ///< where the selection ended
  std::vector<Place> fresh{};   ///< new children of `place` that are being valued, none if `place` itself is
  Ledger ledger{};              ///< its costs until it is merged
  bool growing = false;         ///< children of `place` are being fetched
  bool again = false;           ///< values `place` once more, while an earlier simulation fetches its children
  Status after{};               ///< the status of `place` after the growth
  typename Env::State state{};  ///< of `place`, while it grows
  std::vector<std::tuple<Kind, std::uint32_t, Context>> asks{};
  std::vector<Proposal<typename Env::Action>> proposals{};
  std::vector<typename Env::State> states{};                   ///< of the new proposals, in order
  std::vector<std::pair<typename Env::State, Seed>> leaves{};  ///< states and seeds to evaluate
  std::vector<Result> results{};                               ///< of the leaves, in order
  std::exception_ptr growth_error{}, error{};
  Event grown{}, done{};
  std::vector<Task<void>> tasks{};
};

/// True if an evaluator wants the leaves of a simulation one after the other, because it reads what they cost.
bool in_turn(const auto& evaluate) {
  if constexpr (requires { evaluate.in_turn(); }) return evaluate.in_turn();
  else return false;
}

}  // namespace espalier::detail
