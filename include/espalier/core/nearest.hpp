#pragma once

#include <espalier/version.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::detail {

/// The number of bytes to insert, delete or replace to turn one text into the other. Letters of either case are equal.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + ((a[i] | 0x20) != (b[j] | 0x20));
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row.back();
}

/// The candidate nearest to `name`, the first of equals. Empty if more than a third of the name would have to change.
std::string nearest(std::string_view name, const auto& candidates) {
  std::string best;
  std::size_t bound = (name.size() + 1) / 3 + 1;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < bound) {
      bound = distance;
      best = candidate;
    }
  }
  return best;
}

/// The end of a message about an unknown name: ", did you mean 'x'?", or nothing if no candidate is near.
std::string did_you_mean(std::string_view name, const auto& candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? near : ", did you mean '" + near + "'?";
}

}  // namespace espalier::detail
