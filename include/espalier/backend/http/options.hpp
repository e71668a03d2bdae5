#pragma once

#include <espalier/backend/http/watch.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

namespace espalier::backend {

/// How requests to one server are sent. All are execution options, and none is part of a request's key.
struct HttpOptions {
  std::size_t max_in_flight = 64;  ///< messages under way at once, >= 1. Further ones wait in line
  double connect_timeout_s = 10;   ///< of one attempt, > 0
  double timeout_s = 300;          ///< of one whole attempt, > 0
  double deadline_s = 600;         ///< of a request: all its attempts together, > 0. It does not run during `wait_s`
  int max_attempts = 0;            ///< 0 = as many as the deadline allows
  /// The wait after failure i (from 1) is uniform in [0, min(backoff_limit_s, backoff_s 2^(i-1))].
  double backoff_s = 0.5;
  double backoff_limit_s = 30;                             ///< >= backoff_s
  std::size_t max_response_bytes = std::size_t(64) << 20;  ///< a longer reply counts as damaged, >= 1
  /// Of all replies under way, >= 1. Above it, long ones fail, and above twice as much all that grow.
  std::size_t max_receiving_bytes = std::size_t(256) << 20;
  static constexpr double early_s = 15;   ///< seconds from the first message for three attempts, before a good reply
  static constexpr double silent_s = 30;  ///< the same for a server that says nothing
  double wait_s = 0;                      ///< in place of both for a server that is starting, 0 = it is not
  std::shared_ptr<HttpWatch> watch = nullptr;  ///< watches replies, null = none. Services that share a client share it

  /// True if a request that failed is never sent again.
  [[nodiscard]] bool asks_once() const { return max_attempts == 1 && wait_s == 0; }
  /// Seconds to wait after failure number `failures` (from 1), with full jitter. `uniform` is in [0, 1).
  [[nodiscard]] double backoff(int failures, double uniform) const {
    return uniform * std::min(backoff_limit_s, std::ldexp(backoff_s, std::min(failures - 1, 60)));
  }
  /// Throws std::invalid_argument for a value out of range.
  void check() const {
    for (const auto& [name, value] : {std::pair("connect_timeout_s", connect_timeout_s),
                                      {"timeout_s", timeout_s},
                                      {"deadline_s", deadline_s},
                                      {"backoff_s", backoff_s},
                                      {"backoff_limit_s", backoff_limit_s}})
      if (!(value > 0 && value < 1e7)) bad_option(name, value, "seconds, > 0 and below 1e7");
    if (!(wait_s >= 0 && wait_s < 1e7)) bad_option("wait", wait_s, "seconds, 0 or more and below 1e7");
    if (max_in_flight < 1) bad_option("max_in_flight", max_in_flight, ">= 1");
    if (backoff_limit_s < backoff_s) bad_option("backoff_limit_s", backoff_limit_s, ">= backoff_s");
    if (max_attempts < 0) bad_option("max_attempts", max_attempts, ">= 0, where 0 = no limit");
    if (max_response_bytes < 1) bad_option("max_response_bytes", max_response_bytes, ">= 1");
    if (max_receiving_bytes < 1) bad_option("max_receiving_bytes", max_receiving_bytes, ">= 1");
  }
};

}  // namespace espalier::backend
