#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace espalier::backend::detail {

/// Latencies of the last replies.
class RecentLatency {
 public:
  void add(double seconds) { seconds_[count_++ % seconds_.size()] = seconds; }
  /// The latency at a quantile `share` in (0, 1) of the last 256 replies. Nothing before the first 16.
  [[nodiscard]] std::optional<double> quantile(double share) const {
    if (count_ < 16) return std::nullopt;
    std::array<double, 256> sorted = seconds_;
    const std::size_t size = std::min(count_, sorted.size());
    const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(size));
    std::nth_element(sorted.begin(), nth, sorted.begin() + static_cast<std::ptrdiff_t>(size));
    return *nth;
  }

 private:
  std::array<double, 256> seconds_{};
  std::size_t count_ = 0;
};

}  // namespace espalier::backend::detail
