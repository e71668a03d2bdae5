#pragma once

#include <espalier/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// Chooses some of many texts so that they differ (DecoupleRAG's queries). The first text is chosen, then repeatedly
/// the text whose smallest distance to the chosen ones is greatest. The earlier text wins a tie.
namespace espalier {

/// How the samples that become children are chosen. The distance is between the texts that `text(action)` gives.
enum class Diversity : std::uint8_t {
  none,    ///< the first samples
  charset  ///< by the characters they use, as the published code of DecoupleRAG does
};

namespace detail {

/// The number of byte values that occur in only one of the two texts.
inline double charset_distance(std::string_view a, std::string_view b) {
  std::array<std::uint8_t, 256> seen{};
  for (const char c : a) seen[static_cast<unsigned char>(c)] |= 1;
  for (const char c : b) seen[static_cast<unsigned char>(c)] |= 2;
  return static_cast<double>(std::ranges::count_if(seen, [](std::uint8_t who) { return who == 1 || who == 2; }));
}

/// Positions of the k texts that are kept, in increasing order. All of them if there are no more.
inline std::vector<std::size_t> diverse(const std::vector<std::string>& texts, std::size_t k, Diversity diversity) {
  std::vector<std::size_t> kept;
  std::vector<double> nearest(texts.size(), std::numeric_limits<double>::infinity());  // distance to the chosen ones
  while (kept.size() < std::min(texts.size(), k)) {
    const auto next = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
    kept.push_back(next);
    for (std::size_t i = 0; i < texts.size(); ++i)
      nearest[i] = std::min(nearest[i], diversity == Diversity::none ? 0 : charset_distance(texts[next], texts[i]));
    for (const std::size_t taken : kept) nearest[taken] = -1;
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace detail

}  // namespace espalier
