#pragma once

#include <espalier/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
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

/// 1 - |A n B| / |A u B| over the words between blanks. It is 0 for two texts without words.
inline double word_distance(std::string_view a, std::string_view b) {
  const auto words = [](std::string_view text) {
    std::set<std::string_view> all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = text.find_first_not_of(" \t\r\n", at);
      if (begin == std::string_view::npos) break;
      at = std::min(text.find_first_of(" \t\r\n", begin), text.size());
      all.insert(text.substr(begin, at - begin));
    }
    return all;
  };
  const auto first = words(a), second = words(b);
  const auto both = static_cast<std::size_t>(
      std::count_if(first.begin(), first.end(), [&](std::string_view w) { return second.contains(w); }));
  const std::size_t either = first.size() + second.size() - both;
  return either == 0 ? 0 : 1 - static_cast<double>(both) / static_cast<double>(either);
}

}  // namespace detail

/// How the samples that become children are chosen. The distance is between the texts that `text(action)` gives.
enum class Diversity : std::uint8_t {
  none,          ///< the first samples
  charset,       ///< by the characters they use, as the published code of DecoupleRAG does
  token_jaccard  ///< by the words they use
};

namespace detail {

/// Positions of the k texts that are kept, in increasing order.
inline std::vector<std::size_t> diverse(const std::vector<std::string>& texts, std::size_t k, Diversity diversity) {
  const auto distance = [&](std::size_t i, std::size_t j) {
    switch (diversity) {
      case Diversity::charset:
        return charset_distance(texts[i], texts[j]);
      case Diversity::token_jaccard:
        return word_distance(texts[i], texts[j]);
      case Diversity::none:
        break;
    }
    return 0.0;
  };
  std::vector<std::size_t> kept = most_different(texts.size(), k, distance);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace detail

}  // namespace espalier
