#pragma once

#include <espalier/core/concepts.hpp>

#include <vector>

namespace espalier {

/// Merges equal actions of equal kind, in order: the first stays and takes the priors of its duplicates, so a prior is
/// the share of the samples that said the same. Malformed proposals are never merged.
template <class Action>
std::vector<Proposal<Action>> dedup(std::vector<Proposal<Action>> proposals) {
  std::vector<Proposal<Action>> kept;
  for (auto& proposal : proposals) {
    Proposal<Action>* twin = nullptr;
    for (auto& other : kept)
      if (other.closed == Reason::none && proposal.closed == Reason::none && other.kind == proposal.kind && other.action == proposal.action)
        twin = &other;
    if (twin) twin->prior += proposal.prior;
    else kept.push_back(std::move(proposal));
  }
  return kept;
}

}  // namespace espalier
