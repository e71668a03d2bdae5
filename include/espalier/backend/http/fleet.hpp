#pragma once

#include <espalier/backend/http/options.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// One of several servers with the same model.
struct Replica {
  std::string url;    ///< the part before /chat/completions
  double weight = 1;  ///< share of the questions, relative to the other weights, > 0
};

/// An address for results and messages: without user, password, query and fragment.
inline std::string shown_address(std::string url) {
  url.resize(std::min(url.find_first_of("?#"), url.size()));
  const std::size_t host = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  const std::size_t at = url.rfind('@', url.find('/', host));
  return at == std::string::npos || at < host ? url : url.erase(host, at + 1 - host);
}

/// True for the address of a server that answers with numbers, by its path.
inline bool is_scorer(const std::string& url) {
  const std::string shown = shown_address(url);
  return shown.ends_with("/classify") || shown.ends_with("/pooling");
}

/// Reads "URL" or "URL*WEIGHT". Throws std::invalid_argument for a weight that is not a number above 0.
inline Replica read_replica(std::string text) {
  const std::size_t star = text.rfind('*');
  if (star == std::string::npos) return {std::move(text)};
  double weight = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + star + 1, last, weight);
  if (error != std::errc() || end != last || !(weight > 0 && weight < 1e6))
    bad_option("endpoint", shown_address(text), "URL or URL*WEIGHT, a weight above 0 and below 1e6");
  text.resize(star);
  return {std::move(text), weight};
}

/// How many messages one server may have under way. The width grows by one for every full window of good replies. If
/// the server is overloaded it is halved, once for all messages under way at that time. It never falls below 1.
class HttpWindow {
 public:
  HttpWindow(double width, double limit) : width_(std::clamp(width, 1.0, limit)), limit_(limit) {}
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(width_); }
  [[nodiscard]] std::size_t under_way() const { return under_way_; }
  [[nodiscard]] bool room() const { return under_way_ < width(); }

  /// A message begins. Returns its number, from 1.
  std::uint64_t begin() {
    ++under_way_;
    return ++begun_;
  }
  void end() { --under_way_; }
  /// A good reply came to a message that has just ended.
  void widen() {
    if (under_way_ + 1 >= width()) width_ = std::min(limit_, width_ + 1 / width_);
  }
  /// Message `number` says that the server is overloaded.
  void narrow(std::uint64_t number) {
    if (number <= narrowed_at_) return;
    width_ = std::max(1.0, width_ / 2);
    narrowed_at_ = begun_;
  }

 private:
  double width_, limit_;
  std::size_t under_way_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t narrowed_at_ = 0;  ///< messages up to this number were under way at the last narrowing
};

/// How a server handled a message.
enum class Served : std::uint8_t {
  good,
  refused,      ///< refused for good, by a healthy server
  busy,         ///< 429: it asks for fewer requests
  stalled,      ///< 503, or a timeout of one that has replied before: overloaded or broken
  broken,       ///< a server error, a cut connection or a damaged reply
  unreachable,  ///< no connection, or no reply yet within its patience
};

/// The servers of one service. It decides who gets a message, how many each may have, and who rests, never a result.
///
/// A message goes to the server with the highest rendezvous score for its affinity, so that the prompts of one question
/// share a server's prefix cache. If that server has no room, the next one gets it. A first rest (docs page
/// "contracts") lasts HttpOptions::backoff_s, each further one twice as long, up to backoff_limit_s.
class HttpFleet {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Statistics of one server.
  struct Figures {
    std::uint64_t requests = 0;  ///< messages sent, retries included
    std::uint64_t failures = 0;  ///< failures that are retried
    std::uint64_t rests = 0;     ///< how often it began to rest
    double latency = 0;          ///< seconds of a good reply, mean over about the last 16
  };

  /// Throws std::invalid_argument for a server that is named twice.
  HttpFleet(std::vector<Replica> replicas, const HttpOptions& options)
      : replicas_(std::move(replicas)), rest_s_(options.backoff_s), rest_limit_s_(options.backoff_limit_s) {
    options.check();
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

  /// True if the server accepts messages. One that rests accepts a single one after its rest.
  [[nodiscard]] bool up(std::size_t server, Time now) const {
    const Server& s = servers_[server];
    return s.busy_until <= now && (!s.resting || s.window.under_way() == 0);
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  /// The server for a message, if one has room: without affinity (0) the least busy one. `but` is to be avoided.
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
  /// True if another server accepts messages and does not rest.
  [[nodiscard]] bool other_up(std::size_t server, Time now) const {
    for (std::size_t i = 0; i < size(); ++i)
      if (i != server && up(i, now) && !resting(i)) return true;
    return false;
  }
  /// Rendezvous score of a server for an affinity. The highest one wins, in proportion to weights.
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
  /// Records how a message ended after `seconds`. `pause`: the seconds for which the server asked for a pause.
  void judge(std::size_t server, std::uint64_t number, Served served, double seconds, std::optional<double> pause,
             Time now) {
    Server& s = servers_[server];
    if (served == Served::good) {
      s.window.widen();
      s.learn(seconds);
      if (inflated(server, now)) s.window.narrow(number);
    } else if (served == Served::busy || served == Served::stalled) {
      s.window.narrow(number);
    }
    if (served == Served::good || served == Served::refused) {
      s.failures = s.rests = 0;
      if (std::exchange(s.resting, false)) s.busy_until = now;
      return;
    }
    ++s.figures.failures;
    if (served != Served::busy) ++s.failures;
    const bool rests = size() > 1 && (served == Served::unreachable || s.failures >= 3);
    if (rests && (!s.resting || s.busy_until <= now)) {
      s.figures.rests += !s.resting;
      s.resting = true;
      pause = std::max(pause.value_or(0), std::min(rest_limit_s_, std::ldexp(rest_s_, std::min(s.rests++, 60))));
    }
    if (pause)
      s.busy_until = std::max(s.busy_until, now + std::chrono::duration_cast<Time::duration>(
                                                      std::chrono::duration<double>(std::min(*pause, 3600.0))));
  }
  [[nodiscard]] bool resting(std::size_t server) const { return servers_[server].resting; }

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
    int failures = 0, rests = 0;                            ///< failures, and rests, in a row
    std::uint64_t replies = 0;                              ///< good replies
    double best = std::numeric_limits<double>::infinity();  ///< lowest mean latency so far
  };

  /// True if a server is overloaded: its latency has grown more than twice as much as that of the one that grew least.
  [[nodiscard]] bool inflated(std::size_t server, Time now) const {
    double least = std::numeric_limits<double>::infinity();
    const auto growth = [](const Server& s) { return s.replies < 32 ? 1e9 : s.figures.latency / s.best; };
    for (std::size_t i = 0; i < size(); ++i)
      if (i != server && up(i, now) && !resting(i)) least = std::min(least, growth(servers_[i]));
    return servers_[server].replies >= 32 && growth(servers_[server]) > 2 * least;
  }

  std::vector<Replica> replicas_;
  double rest_s_, rest_limit_s_;
  std::vector<Server> servers_;
};

}  // namespace espalier::backend::detail
