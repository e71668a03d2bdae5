#pragma once

#include <espalier/llm/passage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

namespace espalier::backend {

/// Reciprocal-rank fusion (Cormack et al. 2009). A passage's score is the sum of 1 / (constant + rank) over the lists
/// that contain it, with ranks from 1. Passages are equal if their ids are. Equal scores are ordered by id.
template <class = void>
Passages fuse(std::span<const Passages> lists, std::uint32_t k, double constant = 60) {
  std::map<std::string_view, std::size_t> places;
  Passages fused;
  for (const Passages& list : lists)
    for (std::size_t rank = 1; rank <= list.size(); ++rank) {
      const Passage& passage = list[rank - 1];
      const double share = 1 / (constant + static_cast<double>(rank));
      const auto [at, fresh] = places.try_emplace(passage.id(), fused.size());
      if (fresh) fused.push_back(passage.scored(share));
      else fused[at->second] = fused[at->second].scored(fused[at->second].score() + share);
    }
  std::sort(fused.begin(), fused.end(), [](const Passage& a, const Passage& b) {
    return a.score() != b.score() ? a.score() > b.score() : a.id() < b.id();
  });
  if (fused.size() > k) fused.erase(fused.begin() + static_cast<std::ptrdiff_t>(k), fused.end());
  return fused;
}

}  // namespace espalier::backend
