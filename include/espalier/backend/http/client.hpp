#pragma once

#include <espalier/backend/http/endpoint.hpp>
#include <espalier/backend/http/exchange.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/backend/http/loop.hpp>
#include <espalier/backend/http/probes.hpp>
#include <espalier/backend/http/retry.hpp>
#include <espalier/backend/http/transfer.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/seed.hpp>

#include <algorithm>
#include <chrono>
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

/// Sends JSON bodies by POST, or asks by GET, and keeps many requests in flight on one thread: keep-alive, TLS, HTTP/2 where a
/// TLS server offers it, proxies, no redirects, limits and retries as the endpoint's options say (contracts: failures); which server of a fleet
/// gets what is the fleet's to say. Several services may share one client; one thread at a time uses it.
class HttpClient {
 public:
  using Id = std::uint64_t;

  HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient() {
    for (auto& [id, exchange] : exchanges_) stop(*exchange);
  }

  /// Starts a request, as soon as a server has room for it. `affinity`: equal ones meet at one server; 0 = none. Without a body
  /// it is a GET: a question about the server, where another status than 429, 502, 503 and 504 is an answer and not worth
  /// another attempt.
  Id send(std::shared_ptr<const HttpEndpoint> endpoint, std::string body, std::unique_ptr<HttpHandler> handler, std::uint64_t affinity = 0) {
    auto exchange = std::make_unique<HttpExchange>();
    exchange->id = next_++;
    exchange->endpoint = std::move(endpoint);
    exchange->body = std::move(body);
    exchange->handler = std::move(handler);
    exchange->affinity = affinity;
    HttpExchange& sent = *exchange;
    exchanges_.emplace(sent.id, std::move(exchange));
    start(sent);
    return sent.id;
  }
  /// Ends a request, under way or waiting for its next attempt, and closes its connection. Its handler is destroyed.
  void cancel(Id id) {
    const auto node = exchanges_.extract(id);
    if (node.empty()) return;
    stop(*node.mapped());
    advance(node.mapped()->endpoint->fleet());
  }
  /// Requests that have neither succeeded nor failed.
  [[nodiscard]] std::size_t in_flight() const { return exchanges_.size(); }

  /// Works until a request of any service has succeeded or failed, at most `wait`; returns how many have. Returns early
  /// when nothing is in flight or a signal came.
  std::size_t run_once(std::chrono::milliseconds wait) {
    const auto until = Clock::now() + std::min<std::chrono::milliseconds>(wait, std::chrono::hours(1));
    const std::size_t before = settled_;
    bool go_on = true;
    while (go_on && settled_ == before && !exchanges_.empty()) {
      go_on = loop_.turn(std::min(until, wake()));
      while (const auto ended = loop_.ended()) settle(HttpTransfer::of(ended->first), ended->second);
      go_on = go_on && Clock::now() < until;
    }
    return settled_ - before;
  }

 private:
  using Clock = HttpLoop::Clock;

  static Clock::duration span(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  /// Does what is due; returns when something is next.
  Clock::time_point wake() {
    const auto now = Clock::now();
    while (!timers_.empty() && timers_.top().first <= now) {
      const auto [time, id] = timers_.top();
      timers_.pop();
      const auto found = exchanges_.find(id);
      if (found == exchanges_.end() || found->second->due != time) continue;
      found->second->due = HttpExchange::never;
      if (found->second->under_way.empty()) start(*found->second);
      else copy(*found->second);
    }
    const auto next = probes_.wake(now);
    return timers_.empty() ? next : std::min(next, timers_.top().first);
  }
  void set_timer(HttpExchange& exchange, double seconds) {
    exchange.due = Clock::now() + span(seconds);
    timers_.emplace(exchange.due, exchange.id);
  }

  /// Begins an attempt, or gets in line.
  void start(HttpExchange& exchange) {
    HttpFleet& fleet = exchange.endpoint->fleet();
    const auto server = fleet.choose(exchange.affinity, Clock::now(), exchange.avoid);
    if (!server) return lines_[&fleet].push_back(exchange.id);
    launch(exchange, *server);
    const double quantile = exchange.endpoint->options().hedge;
    if (const auto delay = quantile > 0 ? fleet.hedge_delay(quantile) : std::nullopt) set_timer(exchange, *delay);
  }
  void launch(HttpExchange& exchange, std::size_t server) {
    const HttpOptions& options = exchange.endpoint->options();
    const auto now = Clock::now();
    if (!exchange.deadline) exchange.deadline = now + span(options.deadline_s);
    const double left = std::chrono::duration<double>(*exchange.deadline - now).count();
    ++exchange.attempts;
    auto transfer = idle_.take();
    transfer->prepare(exchange.endpoint, server, exchange.body, std::min(options.timeout_s, left));
    transfer->exchange = exchange.id;
    loop_.add(transfer->easy());
    exchange.under_way.push_back({std::move(transfer), exchange.endpoint->fleet().begin(server)});
    exchange.handler->attempt();
  }
  /// Sends a slow request to a second server too, if one has room.
  void copy(HttpExchange& exchange) {
    const HttpFleet& fleet = exchange.endpoint->fleet();
    const std::size_t first = exchange.under_way.front().transfer->server();
    const auto now = Clock::now();
    const auto second = fleet.choose(exchange.affinity, now, first);
    if (second && *second != first && fleet.up(*second, now)) launch(exchange, *second);
  }
  /// Ends what is under way.
  void stop(HttpExchange& exchange) {
    for (auto& attempt : exchange.under_way) {
      loop_.remove(attempt.transfer->easy());
      exchange.endpoint->fleet().end(attempt.transfer->server());
      idle_.put_back(std::move(attempt.transfer));
    }
    exchange.under_way.clear();
  }
  /// Begins attempts that wait in line, as far as there is room.
  void advance(HttpFleet& fleet) {
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

  /// An attempt has ended: hands the reply over, or plans the next attempt, or gives up.
  void settle(HttpTransfer& ended, CURLcode code) {
    loop_.remove(ended.easy());
    if (ended.exchange == 0) {
      if (HttpFleet* fleet = probes_.ended(ended, code)) advance(*fleet);
      return;
    }
    auto node = exchanges_.extract(ended.exchange);
    HttpExchange& exchange = *node.mapped();
    const auto at = std::find_if(exchange.under_way.begin(), exchange.under_way.end(), [&](const HttpExchange::Attempt& a) { return a.transfer.get() == &ended; });
    HttpExchange::Attempt attempt = std::move(*at);
    exchange.under_way.erase(at);
    HttpFleet& fleet = exchange.endpoint->fleet();
    fleet.end(ended.server());
    const auto judge = [&](Served served) {
      fleet.judge(ended.server(), attempt.number, served, ended.seconds(), ended.retry_after().seconds(), Clock::now());
    };
    try {
      if (const auto error = ended.error(code, json_)) throw *error;
      exchange.endpoint->redact(ended.received());
      exchange.handler->reply(ended.received());
      judge(Served::good);
      for (std::size_t i = 0; i < exchange.under_way.size(); ++i) exchange.handler->duplicate();
      stop(exchange);
      ++settled_;
    } catch (const BackendError& error) {
      const Served served = ended.served(code, error.kind());
      const bool was_resting = fleet.resting(ended.server());
      judge(served);
      if (!was_resting && fleet.resting(ended.server())) probes_.add(exchange.endpoint, ended.server());
      if (!exchange.under_way.empty()) {  // its copy may still succeed
        exchanges_.insert(std::move(node));
      } else if (const auto wait = next_attempt(exchange, error, ended, served)) {
        const Id id = exchange.id;
        exchanges_.insert(std::move(node));
        if (*wait > 0) set_timer(exchange, *wait);
        else start(*exchanges_.at(id));
      } else {
        ++settled_;
      }
    }
    idle_.put_back(std::move(attempt.transfer));
    advance(fleet);
  }

  /// Seconds until the next attempt; nothing = the handler has been told that there is none. A request whose server turned out
  /// to be down goes to another at once, and neither its deadline nor its attempts suffer.
  std::optional<double> next_attempt(HttpExchange& exchange, const BackendError& error, HttpTransfer& ended, Served served) {
    const HttpEndpoint& endpoint = *exchange.endpoint;
    const HttpOptions& options = endpoint.options();
    const auto now = Clock::now();
    std::string what = (exchange.body.empty() ? "GET " : "POST ") + endpoint.shown(ended.server()) + ": " + endpoint.excerpt(error.what());
    const bool others = endpoint.fleet().other_up(ended.server(), now);
    exchange.avoid = ended.server();
    exchange.due = HttpExchange::never;
    if (others && endpoint.fleet().resting(ended.server()) && served != Served::refused && exchange.moves < endpoint.fleet().size()) {
      ++exchange.moves;
      --exchange.attempts;
      *exchange.deadline += span(ended.seconds());
      return 0;
    }
    if (error.kind() == BackendError::Kind::transport) {
      const double jitter = backoff(options, exchange.attempts, jitter_.uniform());
      const double wait = others ? jitter : std::max(jitter, ended.retry_after().seconds().value_or(0));
      const double left = std::chrono::duration<double>(*exchange.deadline - now).count();
      if (wait < left && (options.max_attempts == 0 || exchange.attempts < options.max_attempts)) return std::max(wait, 1e-9);
      what += " (given up after attempt " + std::to_string(exchange.attempts) + ")";
    }
    exchange.handler->failure(BackendError(what, error.kind()));
    return std::nullopt;
  }

  using Timer = std::pair<Clock::time_point, Id>;
  HttpLoop loop_;
  HttpTransfers idle_;
  std::unordered_map<Id, std::unique_ptr<HttpExchange>> exchanges_;
  std::unordered_map<const HttpFleet*, std::deque<Id>> lines_;  ///< requests for which no server has room, first come first
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  HttpProbes probes_{loop_, idle_};
  Random jitter_{Seed(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()))};
  JsonReader json_;
  Id next_ = 1;
  std::size_t settled_ = 0;
};

}  // namespace espalier::backend
