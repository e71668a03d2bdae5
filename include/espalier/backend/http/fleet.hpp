#pragma once

#include <espalier/backend/http/options.hpp>
#include <espalier/backend/http/recent_latency.hpp>
#include <espalier/backend/http/replica.hpp>
#include <espalier/backend/http/window.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// How a server dealt with a message.
enum class Served : std::uint8_t {
  good,
  refused,      ///< for good, by a server that is well
  busy,         ///< 429: less, please
  stalled,      ///< 503 or a timeout: overloaded, or ill
  broken,       ///< an error of the server's own, a cut connection, a damaged reply
  unreachable,  ///< no connection
};

/// The servers that answer for one service: which of them a message goes to, how many each may have, who rests. All of it is
/// a matter of execution and shows in no result.
///
/// A message goes to the server of the highest rendezvous score for its affinity, so that the prompts of one question meet in
/// one server's prefix cache; where that one has no room, to the next. A server that cannot be reached, or that fails three
/// times in succession, rests until it is revived. Where all rest, they are treated as if none did.
class HttpFleet {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// What a server has done so far.
  struct Figures {
    std::uint64_t requests = 0;  ///< messages sent to it, copies and retries included
    std::uint64_t failures = 0;  ///< of them, those that are tried again
    std::uint64_t rests = 0;     ///< how often it was taken out
    double latency = 0;          ///< seconds a good reply, mean over about the last 16
  };

  /// Throws std::invalid_argument for servers named twice and for a hedge that has no second server.
  HttpFleet(std::vector<Replica> replicas, const HttpOptions& options) : replicas_(std::move(replicas)) {
    options.check();
    if (options.hedge > 0 && replicas_.size() < 2) bad_option("hedge", options.hedge, "0 with a single endpoint: a copy goes to another one");
    double sum = 0;
    for (const Replica& replica : replicas_) sum += replica.weight;
    const auto limit = static_cast<double>(options.max_in_flight);
    constexpr double slack = 1.25;  // above the share, so that a question stays with its server while loads fluctuate
    for (const Replica& replica : replicas_) {
      const auto same = [&](const Replica& other) { return other.url == replica.url; };
      if (std::count_if(replicas_.begin(), replicas_.end(), same) > 1) bad_option("endpoint", shown_address(replica.url), "each server once");
      servers_.emplace_back(HttpWindow(replicas_.size() == 1 ? limit : std::ceil(slack * limit * replica.weight / sum), limit));
    }
  }
  [[nodiscard]] std::size_t size() const { return servers_.size(); }
  [[nodiscard]] const std::vector<Replica>& replicas() const { return replicas_; }
  [[nodiscard]] std::string shown(std::size_t server) const { return shown_address(replicas_[server].url); }
  [[nodiscard]] const Figures& figures(std::size_t server) const { return servers_[server].figures; }
  [[nodiscard]] const HttpWindow& window(std::size_t server) const { return servers_[server].window; }

  /// True if the server takes messages.
  [[nodiscard]] bool up(std::size_t server, Time now) const { return !servers_[server].resting && servers_[server].busy_until <= now; }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  /// The server for a message, if one has room. Affinity 0 = none: then the least busy one. `but`: a server to be avoided.
  [[nodiscard]] std::optional<std::size_t> choose(std::uint64_t affinity, Time now, std::size_t but = none) const {
    if (size() == 1) return servers_[0].window.room() ? std::optional<std::size_t>(0) : std::nullopt;
    const bool any_up = other_up(none, now);
    std::optional<std::size_t> best;
    double best_score = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (i == but || !servers_[i].window.room() || (any_up && !up(i, now))) continue;
      const double score = affinity == 0 ? replicas_[i].weight / static_cast<double>(servers_[i].window.under_way() + 1) : rendezvous(replicas_[i], affinity);
      if (best && score <= best_score) continue;
      best = i;
      best_score = score;
    }
    return best || but == none ? best : choose(affinity, now);
  }
  /// True if a server besides this one takes messages.
  [[nodiscard]] bool other_up(std::size_t server, Time now) const {
    for (std::size_t i = 0; i < size(); ++i)
      if (i != server && up(i, now)) return true;
    return false;
  }
  /// How well a server suits an affinity: the highest score has it, in proportion to the weights over many affinities.
  [[nodiscard]] static double rendezvous(const Replica& replica, std::uint64_t affinity) {
    const std::uint64_t bits = Hasher().add(affinity).add(replica.url).finish().low;
    const double uniform = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
    return -replica.weight / std::log(uniform);
  }

  /// A message goes to a server; returns its number there.
  std::uint64_t begin(std::size_t server) {
    ++servers_[server].figures.requests;
    return servers_[server].window.begin();
  }
  /// A message is no longer under way there.
  void end(std::size_t server) { servers_[server].window.end(); }
  /// How a message went that has ended after so many seconds. `pause`: seconds for which the server asked not to be bothered.
  void judge(std::size_t server, std::uint64_t number, Served served, double seconds, std::optional<double> pause, Time now) {
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
    if (pause) s.busy_until = std::max(s.busy_until, now + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(std::min(*pause, 3600.0))));
    if (size() > 1 && !s.resting && (served == Served::unreachable || s.failures >= 3)) {
      s.resting = true;
      ++s.figures.rests;
    }
  }
  [[nodiscard]] bool resting(std::size_t server) const { return servers_[server].resting; }
  /// A resting server has answered a question about its health.
  void revive(std::size_t server) {
    servers_[server].resting = false;
    servers_[server].failures = 0;
  }

  /// After how many seconds a copy of a message is worth sending, once that is known.
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
    int failures = 0;           ///< in succession
    std::uint64_t replies = 0;  ///< good ones
    double best = std::numeric_limits<double>::infinity();  ///< lowest mean latency so far
  };

  /// True if a server's latency has grown, beside its best, more than twice as much as that of the server that grew least: a
  /// rise that all share is the price of full slots.
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

}  // namespace espalier::backend
