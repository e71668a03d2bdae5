#pragma once

#include <espalier/rag/state.hpp>

#include <algorithm>
#include <utility>

namespace espalier::method::detail {

/// The documents of all retrievals on a path, each passage once, after those that are known already.
inline Passages evidence(const rag::State& state, Passages known = Passages()) {
  for (const rag::Segment* segment : state.transcript().segments()) {
    if (!segment->documents()) continue;
    for (const Passage& passage : *segment->documents()) {
      const auto same = [&](const Passage& other) { return other.id() == passage.id(); };
      if (std::none_of(known.begin(), known.end(), same)) known.push_back(passage);
    }
  }
  return known;
}

}  // namespace espalier::method::detail
