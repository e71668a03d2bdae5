#pragma once

#include <espalier/core/error.hpp>

#include <cstddef>
#include <string>

namespace espalier::backend {

/// How requests to one server are carried out. Execution options all: none is part of a request's key.
struct HttpOptions {
  std::size_t max_in_flight = 64;  ///< messages under way at once, >= 1; what comes beyond waits in line
  double connect_timeout_s = 10;   ///< of one attempt, > 0
  double timeout_s = 300;          ///< of one attempt as a whole, > 0
  double deadline_s = 600;         ///< of a request with all its attempts, from the first one on, > 0
  int max_attempts = 0;            ///< 0 = as many as the deadline allows
  double backoff_s = 0.5;          ///< the wait after failure i is uniform in [0, min(backoff_limit_s, backoff_s 2^i)]
  double backoff_limit_s = 30;     ///< >= backoff_s
  std::size_t max_response_bytes = std::size_t(64) << 20;  ///< a longer reply counts as damaged, >= 1
  std::string ca_file = {};                                ///< PEM file of trusted authorities; "" = $SSL_CERT_FILE or the system's
  bool verify_tls = true;                                  ///< check the server's certificate and name
  std::string proxy = {};                                  ///< address of a proxy; "" = that of the environment
  double hedge = 0;  ///< a request slower than this quantile of the recent ones, in (0, 1), is sent to a second server; 0 = never

  /// Throws std::invalid_argument for a value out of range. (Whether ca_file can be read is the endpoint's to check.)
  void check() const {
    const auto positive = [](const char* name, double value) {
      if (!(value > 0 && value < 1e7)) bad_option(name, value, "seconds, > 0 and below 1e7");
    };
    if (max_in_flight < 1) bad_option("max_in_flight", max_in_flight, ">= 1");
    positive("connect_timeout_s", connect_timeout_s);
    positive("timeout_s", timeout_s);
    positive("deadline_s", deadline_s);
    positive("backoff_s", backoff_s);
    positive("backoff_limit_s", backoff_limit_s);
    if (backoff_limit_s < backoff_s) bad_option("backoff_limit_s", backoff_limit_s, ">= backoff_s");
    if (max_attempts < 0) bad_option("max_attempts", max_attempts, ">= 0; 0 = no limit");
    if (!(hedge >= 0 && hedge < 1)) bad_option("hedge", hedge, "a quantile, 0 <= P < 1; 0 = never");
    if (max_response_bytes < 1) bad_option("max_response_bytes", max_response_bytes, ">= 1");
  }
};

}  // namespace espalier::backend
