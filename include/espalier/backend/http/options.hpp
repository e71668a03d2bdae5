#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace espalier::backend {

/// Watches servers for a waiting user: reports at once, and only once, that a server has not replied for a while. Only
/// one thread at a time may call it.
class HttpWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Say = std::function<void(const std::string&)>;

  /// A server is reported after a twentieth of a request's deadline: 30 s of ten minutes. `say` gets each new trouble
  /// and remark.
  HttpWatch(double deadline_s, Say say) : patience_s_(deadline_s / 20), say_(std::move(say)) {}

  /// A message goes to a server.
  void sent(const std::string& server, Time now) {
    State& state = servers_[server];
    if (!state.replied && !state.since) state.since = now;
  }
  /// The server could not be reached or has failed with `what`.
  void failed(const std::string& server, const std::string& what, Time now) {
    State& state = servers_[server];
    if (!state.since) state.since = now;
    state.what = what;
  }
  /// The server has replied, even if it refused.
  void replied(const std::string& server) { servers_[server] = State{.replied = true}; }
  /// Reports servers that have been silent too long.
  void look(Time now) {
    for (auto& [server, state] : servers_) {
      if (!state.since || !state.trouble.empty() ||
          std::chrono::duration<double>(now - *state.since).count() < patience_s_)
        continue;
      state.trouble = "no reply for ";
      JsonWriter(state.trouble).value(patience_s_);
      state.trouble += " s: ";
      state.trouble += state.what.empty() ? server : state.what;
      if (say_) say_(std::string(state.trouble));
    }
  }
  /// Records something that readers of the results must know about a server. Only its first remark counts.
  void remark(const std::string& server, const std::string& what) {
    if (!remarks_.emplace(server, server + ": " + what).second) return;
    if (say_) say_(remarks_.at(server));
  }

  /// The current trouble, "" = none.
  [[nodiscard]] std::string trouble() const {
    for (const auto& [server, state] : servers_)
      if (!state.trouble.empty()) return state.trouble;
    return "";
  }
  [[nodiscard]] const std::map<std::string, std::string>& remarks() const { return remarks_; }

 private:
  struct State {
    bool replied = false;
    std::optional<Time> since = std::nullopt;  ///< start of the wait for its first reply, or of its failures
    std::string what = {};                     ///< the last failure
    std::string trouble = {};                  ///< the report as given
  };
  double patience_s_;
  Say say_;
  std::map<std::string, State> servers_;
  std::map<std::string, std::string> remarks_;  ///< one per server
};

/// How requests to one server are sent. All are execution options, and none is part of a request's key.
struct HttpOptions {
  std::size_t max_in_flight = 64;  ///< messages under way at once, >= 1. Further ones wait in line
  double connect_timeout_s = 10;   ///< of one attempt, > 0
  double timeout_s = 300;          ///< of one whole attempt, > 0
  double deadline_s = 600;         ///< of a request with all its attempts, from the first one, > 0
  int max_attempts = 0;            ///< 0 = as many as the deadline allows
  /// The wait after failure i (from 1) is uniform in [0, min(backoff_limit_s, backoff_s 2^(i-1))].
  double backoff_s = 0.5;
  double backoff_limit_s = 30;                             ///< >= backoff_s
  std::size_t max_response_bytes = std::size_t(64) << 20;  ///< a longer reply counts as damaged, >= 1
  /// Of all replies under way, >= 1. Above it, long ones fail, and above twice as much all that grow.
  std::size_t max_receiving_bytes = std::size_t(256) << 20;
  std::shared_ptr<HttpWatch> watch = nullptr;  ///< watches replies, null = none. Services that share a client share it

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
    if (max_in_flight < 1) bad_option("max_in_flight", max_in_flight, ">= 1");
    if (backoff_limit_s < backoff_s) bad_option("backoff_limit_s", backoff_limit_s, ">= backoff_s");
    if (max_attempts < 0) bad_option("max_attempts", max_attempts, ">= 0, where 0 = no limit");
    if (max_response_bytes < 1) bad_option("max_response_bytes", max_response_bytes, ">= 1");
    if (max_receiving_bytes < 1) bad_option("max_receiving_bytes", max_receiving_bytes, ">= 1");
  }
};

}  // namespace espalier::backend
