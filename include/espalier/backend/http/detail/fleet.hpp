#pragma once

#include <espalier/backend/http/detail/replica.hpp>
#include <espalier/backend/http/detail/window.hpp>
#include <espalier/backend/http/options.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// How a server handled a message.
enum class Served : std::uint8_t {
  good,
  refused,      ///< refused for good, by a healthy server
  busy,         ///< 429: it asks for fewer requests
  stalled,      ///< 503 or a timeout: overloaded or broken
  broken,       ///< a server error, a cut connection or a damaged reply
  unreachable,  ///< no connection
};

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

/// The servers of one service. The fleet decides which server gets a message, how many messages each may have, and
/// which servers rest. All this is a matter of execution and changes no result.
///
/// A message goes to the server with the highest rendezvous score for its affinity, so that the prompts of one question
/// share a server's prefix cache. If that server has no room, the next one gets it. A server that cannot be reached, or
/// that fails three times in a row, rests until it is revived. If all servers rest, they are treated as if none did.
class HttpFleet {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Statistics of one server.
  struct Figures {
    std::uint64_t requests = 0;  ///< messages sent, copies and retries included
    std::uint64_t failures = 0;  ///< failures that are retried
    std::uint64_t rests = 0;     ///< how often it began to rest
    double latency = 0;          ///< seconds of a good reply, mean over about the last 16
  };

  /// Throws std::invalid_argument for a server that is named twice, and for hedging without a second server.
  HttpFleet(std::vector<Replica> replicas, const HttpOptions& options) : replicas_(std::move(replicas)) {
    options.check();
    if (options.hedge > 0 && replicas_.size() < 2)
      bad_option("hedge", options.hedge, "0 with a single endpoint: a copy goes to another one");
    double sum = 0;
    for (const Replica& replica : replicas_) sum += replica.weight;
    const auto limit = static_cast<double>(options.max_in_flight);
    constexpr double slack = 1.25;  // above the share, so that a question stays with its server while loads vary
    for (const Replica& replica : replicas_) {
      const auto same = [&](const Replica& other) { return other.url == replica.url; };
      if (std::count_if(replicas_.begin(), replicas_.end(), same) > 1)
        bad_option("endpoint", shown_address(replica.url), "each server once");
      servers_.emplace_back(
          HttpWindow(replicas_.size() == 1 ? limit : std::ceil(slack * limit * replica.weight / sum), limit));
    }
  }
  [[nodiscard]] std::size_t size() const { return servers_.size(); }
  [[nodiscard]] const std::vector<Replica>& replicas() const { return replicas_; }
  [[nodiscard]] std::string shown(std::size_t server) const { return shown_address(replicas_[server].url); }
  [[nodiscard]] const Figures& figures(std::size_t server) const { return servers_[server].figures; }
  [[nodiscard]] const HttpWindow& window(std::size_t server) const { return servers_[server].window; }

  /// True if the server accepts messages.
  [[nodiscard]] bool up(std::size_t server, Time now) const {
    return !servers_[server].resting && servers_[server].busy_until <= now;
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  /// The server for a message, if one has room. Without affinity (0) it is the least busy one. `but` is a server to
  /// avoid.
  [[nodiscard]] std::optional<std::size_t> choose(std::uint64_t affinity, Time now, std::size_t but = none) const {
    if (size() == 1) return servers_[0].window.room() ? std::optional<std::size_t>(0) : std::nullopt;
    const bool any_up = other_up(none, now);
    std::optional<std::size_t> best;
    double best_score = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (i == but || !servers_[i].window.room() || (any_up && !up(i, now))) continue;
      const double score = affinity == 0 ? replicas_[i].weight / static_cast<double>(servers_[i].window.under_way() + 1)
                                         : rendezvous(replicas_[i], affinity);
      if (best && score <= best_score) continue;
      best = i;
      best_score = score;
    }
    return best || but == none ? best : choose(affinity, now);
  }
  /// True if another server accepts messages.
  [[nodiscard]] bool other_up(std::size_t server, Time now) const {
    for (std::size_t i = 0; i < size(); ++i)
      if (i != server && up(i, now)) return true;
    return false;
  }
  /// Rendezvous score of a server for an affinity. The highest score wins, in proportion to the weights over many
  /// affinities.
  [[nodiscard]] static double rendezvous(const Replica& replica, std::uint64_t affinity) {
    const std::uint64_t bits = Hasher().add(affinity).add(replica.url).finish().low;
    const double uniform = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
    return -replica.weight / std::log(uniform);
  }

  /// Records that a message goes to a server. Returns its number there.
  std::uint64_t begin(std::size_t server) {
    ++servers_[server].figures.requests;
    return servers_[server].window.begin();
  }
  /// Records that a message is no longer under way there.
  void end(std::size_t server) { servers_[server].window.end(); }
  /// Records how a message ended after `seconds`. `pause` is the time in seconds for which the server asked for a
  /// pause.
  void judge(std::size_t server, std::uint64_t number, Served served, double seconds, std::optional<double> pause,
             Time now) {
    Server& s = servers_[server];
    if (served == Served::good) {
      s.window.widen();
      s.learn(seconds);
      latencies_.add(seconds);
      if (inflated(server, now)) s.window.narrow(number);
    } else if (served == Served::busy || served == Served::stalled) {
      s.window.narrow(number);
    }
    if (served == Served::good || served == Served::refused) {
      s.failures = 0;
      return;
    }
    ++s.figures.failures;
    if (served != Served::busy) ++s.failures;
    if (pause)
      s.busy_until = std::max(s.busy_until, now + std::chrono::duration_cast<Time::duration>(
                                                      std::chrono::duration<double>(std::min(*pause, 3600.0))));
    if (size() > 1 && !s.resting && (served == Served::unreachable || s.failures >= 3)) {
      s.resting = true;
      ++s.figures.rests;
    }
  }
  [[nodiscard]] bool resting(std::size_t server) const { return servers_[server].resting; }
  /// Records that a resting server is healthy again.
  void revive(std::size_t server) {
    servers_[server].resting = false;
    servers_[server].failures = 0;
  }

  /// Seconds after which a copy of a message is worth sending, once known.
  [[nodiscard]] std::optional<double> hedge_delay(double quantile) const { return latencies_.quantile(quantile); }

 private:
  struct Server {
    explicit Server(HttpWindow w) : window(w) {}
    void learn(double seconds) {
      ++replies;
      figures.latency += (seconds - figures.latency) / static_cast<double>(std::min<std::uint64_t>(replies, 16));
      if (replies >= 16) best = std::min(best, figures.latency);
    }
    HttpWindow window;
    Figures figures{};
    Time busy_until{};
    bool resting = false;
    int failures = 0;                                       ///< failures in a row
    std::uint64_t replies = 0;                              ///< good replies
    double best = std::numeric_limits<double>::infinity();  ///< lowest mean latency so far
  };

  /// True if a server is overloaded: its latency, divided by its best one, is more than twice that of the server with
  /// the smallest such ratio. A rise that all servers share only means that all slots are full.
  [[nodiscard]] bool inflated(std::size_t server, Time now) const {
    double least = std::numeric_limits<double>::infinity();
    const auto growth = [](const Server& s) { return s.replies < 32 ? 1e9 : s.figures.latency / s.best; };
    for (std::size_t i = 0; i < size(); ++i)
      if (i != server && up(i, now)) least = std::min(least, growth(servers_[i]));
    return servers_[server].replies >= 32 && growth(servers_[server]) > 2 * least;
  }

  std::vector<Replica> replicas_;
  std::vector<Server> servers_;
  RecentLatency latencies_;
};

}  // namespace espalier::backend::detail
