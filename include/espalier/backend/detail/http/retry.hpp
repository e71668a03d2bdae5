#pragma once

#include <espalier/backend/http/options.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// Seconds to wait after failure number `failures` (from 1), with full jitter. `uniform` is in [0, 1).
inline double backoff(const HttpOptions& options, int failures, double uniform) {
  return uniform * std::min(options.backoff_limit_s, std::ldexp(options.backoff_s, std::min(failures - 1, 60)));
}

/// The wait that header lines ask for: Retry-After (seconds or an HTTP date) and retry-after-ms, which takes
/// precedence. Other lines change nothing.
class RetryAfter {
 public:
  void read(std::string_view line, std::time_t now) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const bool exact = equal(line.substr(0, colon), "retry-after-ms");
    if (!exact && !equal(line.substr(0, colon), "retry-after")) return;
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    while (!value.empty() && static_cast<unsigned char>(value.back()) <= 0x20) value.remove_suffix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= 0 && std::isfinite(number)) {
      if (exact) seconds_ = number / 1000;
      else if (!exact_) seconds_ = number;
      exact_ = exact_ || exact;
    } else if (const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
               !exact && !exact_ && date >= 0) {
      seconds_ = std::max(0.0, std::difftime(date, now));
    }
  }
  /// Seconds, counted from the reply.
  [[nodiscard]] const std::optional<double>& seconds() const { return seconds_; }

 private:
  static bool equal(std::string_view a, std::string_view lower) {
    return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                      [](char x, char y) { return (x >= 'A' && x <= 'Z' ? char(x + 32) : x) == y; });
  }
  std::optional<double> seconds_;
  bool exact_ = false;
};

}  // namespace espalier::backend::detail
