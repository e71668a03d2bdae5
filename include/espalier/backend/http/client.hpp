#pragma once

#include <espalier/backend/detail/http/loop.hpp>
#include <espalier/backend/detail/http/transfer.hpp>
#include <espalier/backend/http/endpoint.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/seed.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Sends JSON bodies by POST, or asks by GET, and keeps many requests in flight on one thread. The endpoint's options
/// set limits and retries. Its fleet chooses the server of a message. Services may share it within one thread.
class HttpClient {
 public:
  using Id = std::uint64_t;
  ~HttpClient() {
    for (auto& [id, exchange] : exchanges_) stop(*exchange);
  }

  /// Starts a request as soon as a server has room.
  Id send(std::unique_ptr<detail::HttpExchange> exchange) {
    detail::HttpExchange& sent = *exchange;
    sent.id = next_++;
    if (const auto& watch = sent.endpoint->options().watch) watch_ = watch;
    exchanges_.emplace(sent.id, std::move(exchange));
    start(sent);
    return sent.id;
  }
  /// Ends a request, whether under way or waiting for its next attempt, and closes its connection. It is destroyed.
  void cancel(Id id) {
    const auto node = exchanges_.extract(id);
    if (node.empty()) return;
    stop(*node.mapped());
    advance(node.mapped()->endpoint->fleet());
  }
  /// Requests that have neither succeeded nor failed.
  [[nodiscard]] std::size_t in_flight() const { return exchanges_.size(); }

  /// Works until a request of any service has ended or `wait` is over. Returns early if nothing is in flight.
  void run_once(std::chrono::milliseconds wait) {
    auto now = Clock::now();
    const auto until = now + std::min<std::chrono::milliseconds>(wait, std::chrono::hours(1));
    const std::size_t before = settled_;
    while (settled_ == before && !exchanges_.empty()) {
      loop_.turn(std::min(until, wake()));
      while (const auto ended = loop_.ended()) settle(detail::HttpTransfer::of(ended->first), ended->second);
      now = Clock::now();
      if (watch_) watch_->look(now);
      if (now >= until) return;
    }
  }

 private:
  using Clock = detail::HttpLoop::Clock;
  static Clock::duration span(double s) { return std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(s)); }

  /// Does what is due. Returns the time of the next event.
  Clock::time_point wake() {
    const auto now = Clock::now();
    if (given_up() && end_all(now)) return now;
    while (!timers_.empty() && timers_.top().first <= now) {
      const auto found = exchanges_.find(timers_.top().second);
      timers_.pop();
      if (found != exchanges_.end()) start(*found->second);
    }
    return timers_.empty() ? Clock::time_point::max() : timers_.top().first;
  }

  [[nodiscard]] bool given_up() const { return watch_ && watch_->given_up(); }
  /// Ends a given-up run's requests, but for those under way at a server with good replies. True if there were any.
  bool end_all(Clock::time_point now) {
    std::vector<Id> lost;
    for (const auto& [id, exchange] : exchanges_)
      if (!exchange->under_way || std::isfinite(exchange->endpoint->patience(now))) lost.push_back(id);
    for (const Id id : lost) {
      const auto node = exchanges_.extract(id);
      stop(*node.mapped());
      ++settled_;
      node.mapped()->failure(*watch_->given_up());
    }
    return !lost.empty();
  }

  /// Begins an attempt, or waits in line.
  void start(detail::HttpExchange& exchange) {
    if (given_up()) return timers_.emplace(Clock::now(), exchange.id);  // it ends there
    detail::HttpFleet& fleet = exchange.endpoint->fleet();
    const auto server = fleet.choose(exchange.affinity, Clock::now(), exchange.avoid);
    if (!server) return lines_[&fleet].push_back(exchange.id);
    const HttpOptions& options = exchange.endpoint->options();
    const auto now = Clock::now();
    if (!exchange.deadline) exchange.deadline = now + span(options.deadline_s);
    const double left = std::chrono::duration<double>(*exchange.deadline - now).count();
    ++exchange.attempts;
    if (options.watch) options.watch->sent(exchange.endpoint->name(), now);
    exchange.under_way = take();
    exchange.under_way->prepare(exchange.endpoint, *server, exchange.body, std::min(options.timeout_s, left));
    exchange.under_way->exchange = exchange.id;
    loop_.add(exchange.under_way->easy());
    exchange.number = fleet.begin(*server);
    exchange.attempt();
  }
  std::unique_ptr<detail::HttpTransfer> take() {
    if (idle_.empty()) return std::make_unique<detail::HttpTransfer>(receiving_);
    auto transfer = std::move(idle_.back());
    idle_.pop_back();
    return transfer;
  }
  void put_back(std::unique_ptr<detail::HttpTransfer> transfer) {
    transfer->forget();
    idle_.push_back(std::move(transfer));
  }
  /// Ends the attempt under way.
  void stop(detail::HttpExchange& exchange) {
    if (!exchange.under_way) return;
    loop_.remove(exchange.under_way->easy());
    exchange.endpoint->fleet().end(exchange.under_way->server());
    put_back(std::move(exchange.under_way));
  }
  /// Begins attempts that wait in line, as far as there is room.
  void advance(detail::HttpFleet& fleet) {
    const auto line = lines_.find(&fleet);
    if (line == lines_.end()) return;
    while (!line->second.empty()) {
      const auto first = exchanges_.find(line->second.front());
      if (first != exchanges_.end() && !fleet.choose(first->second->affinity, Clock::now())) return;
      line->second.pop_front();
      if (first != exchanges_.end()) start(*first->second);
    }
    lines_.erase(line);
  }

  /// Handles the end of an attempt: hands the reply over, plans the next attempt, or gives up.
  void settle(detail::HttpTransfer& ended, CURLcode code) {
    loop_.remove(ended.easy());
    auto node = exchanges_.extract(ended.exchange);
    detail::HttpExchange& exchange = *node.mapped();
    std::unique_ptr<detail::HttpTransfer> attempt = std::move(exchange.under_way);
    detail::HttpFleet& fleet = exchange.endpoint->fleet();
    fleet.end(ended.server());
    const auto judge = [&](detail::Served served, const std::string& what) {
      fleet.judge(ended.server(), exchange.number, served, ended.seconds(), ended.retry_after(), Clock::now());
      const bool cut = exchange.greets && (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR);
      const double ago = std::isinf(exchange.endpoint->patience({})) ? 0 : ended.seconds();  // before a good reply
      exchange.endpoint->tell(served, what, Clock::now() - span(ago), cut || ended.status() > 0, exchange.greets);
    };
    try {
      if (const auto error = ended.error(code, json_)) throw *error;
      exchange.reply(ended.received());
      judge(detail::Served::good, "");
      ++settled_;
    } catch (const BackendError& error) {
      const detail::Served served = ended.served(code, error.kind());
      const std::string what = exchange.endpoint->described(ended.server(), exchange.body.empty(), error.what());
      judge(served, what);
      if (const auto wait = next_attempt(exchange, BackendError(what, error.kind()), ended, served)) {
        exchanges_.insert(std::move(node));
        if (*wait > 0) timers_.emplace(Clock::now() + span(*wait), exchange.id);
        else start(exchange);
      } else {
        ++settled_;
      }
    }
    put_back(std::move(attempt));
    advance(fleet);
  }

  /// Seconds until the next attempt. Nothing if there is none, and the handler was told. If the server turned out to be
  /// down, the request goes to another one at once, and this does not count against its deadline or attempts. Before
  /// the server's first good reply only HttpEndpoint::patience() and three attempts per server are left, or `wait_s`.
  std::optional<double> next_attempt(detail::HttpExchange& exchange, const BackendError& error,
                                     detail::HttpTransfer& ended, detail::Served as) {
    const HttpOptions& options = exchange.endpoint->options();
    const detail::HttpFleet& fleet = exchange.endpoint->fleet();
    const auto now = Clock::now();
    std::string what = error.what();
    const bool others = fleet.other_up(ended.server(), now);
    exchange.avoid = ended.server();
    if (others && fleet.resting(ended.server()) && as != detail::Served::refused && exchange.moves < fleet.size()) {
      ++exchange.moves;
      --exchange.attempts;
      *exchange.deadline += span(ended.seconds());
      if (options.watch) options.watch->moved(exchange.endpoint->name());
      return 0;
    }
    const double patience = exchange.endpoint->patience(now);
    const bool proven = exchange.endpoint->proven(), starting = !proven && options.wait_s > 0;
    const double left = std::chrono::duration<double>(*exchange.deadline - now).count();
    const int most = starting ? 0 : proven || options.max_attempts > 0 ? options.max_attempts : 3 * int(fleet.size());
    const bool more = most == 0 || exchange.attempts < most, transport = error.kind() == BackendError::Kind::transport;
    if (transport) {
      double jitter = options.backoff(starting ? std::min(exchange.attempts, 3) : exchange.attempts, jitter_.uniform());
      if (starting) jitter = std::min(jitter, std::max(patience / 2, 0.02));  // asks until the wait is over
      const double wait = others ? jitter : std::max(jitter, ended.retry_after().value_or(0));
      if (more && wait < (starting ? patience : std::min(left, patience))) {
        if (starting) exchange.deadline.reset();
        return std::max(wait, 1e-9);
      }
      const std::string header = more && wait > jitter ? exchange.endpoint->excerpt(ended.asked) : "";
      what += " (given up after attempt " + std::to_string(exchange.attempts) +
              (header.empty() ? ")" : ": the server asks by '" + header + "' to wait beyond the deadline)");
    }
    const bool silent = !exchange.endpoint->proven(true), idle = exchanges_.empty() && !options.asks_once();
    const bool damaged = ended.status() / 100 == 2 && exchange.attempts + exchange.moves > 2;  // others failed as well
    const bool fault = transport || damaged, last = silent || patience <= 0 || idle;
    if (!proven && (silent || !exchange.greets)) {
      if (fault) what += HttpWatch::advice();
      if (fault ? last : ended.refuses_all()) options.watch->give_up(BackendError(what, error.kind()));
    }
    exchange.failure(BackendError(what, error.kind()));
    return std::nullopt;
  }

  using Timer = std::pair<Clock::time_point, Id>;
  detail::HttpLoop loop_;
  detail::HttpReceiving receiving_;
  std::vector<std::unique_ptr<detail::HttpTransfer>> idle_;  ///< those that can be used again
  std::unordered_map<Id, std::unique_ptr<detail::HttpExchange>> exchanges_;
  std::unordered_map<const detail::HttpFleet*, std::deque<Id>> lines_;     ///< who waits for room, in order of arrival
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;  ///< when the next attempts begin
  std::shared_ptr<HttpWatch> watch_;
  Random jitter_{Seed(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()))};
  detail::JsonReader json_;
  Id next_ = 1;
  std::size_t settled_ = 0;
};

}  // namespace espalier::backend
