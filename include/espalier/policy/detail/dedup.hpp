#pragma once

#include <espalier/core/concepts.hpp>

#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::detail {

/// Merges equal actions of equal kind, in order. The first one stays and takes the priors of its duplicates, so a prior
/// is the share of the samples that said the same. Malformed proposals are never merged.
template <class Action>
std::vector<Proposal<Action>> dedup(std::vector<Proposal<Action>> proposals) {
  std::vector<Proposal<Action>> kept;
  for (auto& proposal : proposals) {
    Proposal<Action>* twin = nullptr;
    for (auto& other : kept)
      if (other.closed == proposal.closed && proposal.closed != Reason::malformed && other.kind == proposal.kind &&
          other.action == proposal.action)
        twin = &other;
    if (twin) twin->prior += proposal.prior;
    else kept.push_back(std::move(proposal));
  }
  return kept;
}

/// Appends what an environment proposed. A vector is moved from, any other range is copied.
template <class Action, class Range>
void append(std::vector<Proposal<Action>>& list, Range drawn) {
  if constexpr (std::is_same_v<Range, std::vector<Proposal<Action>>>)
    list.insert(list.end(), std::make_move_iterator(drawn.begin()), std::make_move_iterator(drawn.end()));
  else list.insert(list.end(), std::ranges::begin(drawn), std::ranges::end(drawn));
}

}  // namespace espalier::detail
