#pragma once

#include <espalier/backend/index/vectors.hpp>

#include <array>
#include <functional>
#include <limits>

namespace espalier::backend::detail {

/// The rows that may be among the best k of a query, by rough scores. Two rows can be in the wrong order only if their
/// rough scores differ by at most `slack`.
class Candidates {
 public:
  Candidates(std::size_t k, double slack) : k_(k), slack_(slack), limit_(2 * k + 256) {}

  /// Offers `count` rows from row `first` on, whose rough scores are (dots - shift) * scales - share * half_squares.
  void offer(const std::int32_t* dots, std::int32_t shift, const float* scales, const float* half_squares, float share,
             std::size_t count, std::uint32_t first) {
    constexpr std::size_t width = 16;
    std::array<float, width> scores{};
    for (std::size_t i = 0; i < count; i += width) {
      const std::size_t here = std::min(width, count - i);
      int any = 0;
      for (std::size_t j = 0; j < width; ++j) {  // arrays reach to the end of the last panel
        scores[j] = static_cast<float>(dots[i + j] - shift) * scales[i + j] - share * half_squares[i + j];
        any |= scores[j] >= bound_ ? 1 : 0;
      }
      if (!any) continue;
      for (std::size_t j = 0; j < here; ++j)
        if (scores[j] >= bound_) pool_.emplace_back(scores[j], first + static_cast<std::uint32_t>(i + j));
      if (pool_.size() >= limit_) tighten();
    }
  }
  void merge(const Candidates& other) { pool_.insert(pool_.end(), other.pool_.begin(), other.pool_.end()); }

  /// The best k, scored by score(row). highest(rough) is the largest score that a row with this rough score can have.
  template <class Highest, class Score>
  [[nodiscard]] std::vector<Hit> best(const Highest& highest, const Score& score) {
    std::vector<Hit> hits;  // a heap whose front is the worst
    if (k_ == 0) return hits;
    tighten();
    std::sort(pool_.begin(), pool_.end(), std::greater<>());
    for (const auto& [rough, row] : pool_) {
      if (hits.size() == k_ && highest(rough) < hits.front().score) break;
      hits.emplace_back(row, score(row));
      std::push_heap(hits.begin(), hits.end());
      if (hits.size() <= k_) continue;
      std::pop_heap(hits.begin(), hits.end());
      hits.pop_back();
    }
    std::sort(hits.begin(), hits.end());
    return hits;
  }

 private:
  void tighten() {
    if (pool_.size() <= k_) return;
    const auto kth = pool_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(pool_.begin(), kth, pool_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    bound_ = std::nextafter(static_cast<float>(double(kth->first) - slack_), -std::numeric_limits<float>::infinity());
    std::erase_if(pool_, [this](const auto& candidate) { return candidate.first < bound_; });
    limit_ = 2 * pool_.size() + 256;
  }

  std::size_t k_;
  double slack_;
  std::size_t limit_;
  float bound_ = -std::numeric_limits<float>::infinity();
  std::vector<std::pair<float, std::uint32_t>> pool_;
};

}  // namespace espalier::backend::detail
