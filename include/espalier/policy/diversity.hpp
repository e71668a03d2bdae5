#pragma once

#include <espalier/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// Chooses some of many texts so that they differ (DecoupleRAG's queries). The first text is chosen, then repeatedly
/// the text whose smallest distance to the chosen ones is greatest. The earlier text wins a tie.
namespace espalier {

namespace detail {

/// Greedy max-min choice of k of n items by distance(i, j) >= 0. Returns positions in the order of choice, all of them
/// if n <= k.
inline std::vector<std::size_t> most_different(std::size_t n, std::size_t k,
                                               const std::function<double(std::size_t, std::size_t)>& distance) {
  std::vector<std::size_t> chosen;
  std::vector<double> nearest(n, std::numeric_limits<double>::infinity());
  while (chosen.size() < std::min(n, k)) {
    const auto next = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
    chosen.push_back(next);
    for (std::size_t i = 0; i < n; ++i) nearest[i] = std::min(nearest[i], distance(next, i));
    for (const std::size_t taken : chosen) nearest[taken] = -1;
  }
  return chosen;
}

/// The number of byte values that occur in only one of the two texts.
inline double charset_distance(std::string_view a, std::string_view b) {
  std::array<std::uint8_t, 256> seen{};
  for (const char c : a) seen[static_cast<unsigned char>(c)] |= 1;
  for (const char c : b) seen[static_cast<unsigned char>(c)] |= 2;
  return static_cast<double>(
      std::count_if(seen.begin(), seen.end(), [](std::uint8_t who) { return who == 1 || who == 2; }));
}

}  // namespace detail

/// How the samples that become children are chosen. The distance is between the texts that `text(action)` gives.
enum class Diversity : std::uint8_t {
  none,    ///< the first samples
  charset  ///< by the characters they use, as the published code of DecoupleRAG does
};

namespace detail {

/// Positions of the k texts that are kept, in increasing order.
inline std::vector<std::size_t> diverse(const std::vector<std::string>& texts, std::size_t k, Diversity diversity) {
  const auto distance = [&](std::size_t i, std::size_t j) {
    return diversity == Diversity::charset ? charset_distance(texts[i], texts[j]) : 0;
  };
  std::vector<std::size_t> kept = most_different(texts.size(), k, distance);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace detail

}  // namespace espalier
