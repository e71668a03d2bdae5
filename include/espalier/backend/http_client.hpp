#pragma once

#include <espalier/backend/http_endpoint.hpp>
#include <espalier/backend/http_loop.hpp>
#include <espalier/backend/json_reader.hpp>
#include <espalier/backend/retry.hpp>
#include <espalier/backend/server_error.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/seed.hpp>

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Who asked for a request: hears of it from inside HttpClient::run_once.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// An attempt begins.
  virtual void attempt() = 0;
  /// The body of a reply with a status of 2xx. Throws BackendError if it is no good: transport = try again.
  virtual void reply(std::string& body) = 0;
  /// No attempt succeeded. The last call.
  virtual void failure(const BackendError& error) = 0;
};

/// Sends JSON bodies by POST, or asks by GET, and keeps many requests in flight on one thread: keep-alive, TLS, proxy from the
/// environment, no redirects, limits and retries as the endpoint's options say (contracts: failures). Several services
/// may share one client; one thread at a time uses it.
class HttpClient {
 public:
  using Id = std::uint64_t;

  HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient() {
    for (auto& [id, exchange] : exchanges_) stop(*exchange);
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
  }

  /// Starts a request at once. Without a body it is a GET: a question about the server, where another status than 429,
  /// 502, 503 and 504 is an answer and not worth another attempt.
  Id send(std::shared_ptr<const HttpEndpoint> endpoint, std::string body, std::unique_ptr<HttpHandler> handler) {
    auto exchange = std::make_unique<Exchange>();
    exchange->id = next_++;
    exchange->endpoint = std::move(endpoint);
    exchange->body = std::move(body);
    exchange->handler = std::move(handler);
    exchange->deadline = Clock::now() + span(exchange->endpoint->options().deadline_s);
    Exchange& sent = *exchange;
    exchanges_.emplace(sent.id, std::move(exchange));
    start(sent);
    return sent.id;
  }
  /// Ends a request, under way or waiting for its next attempt, and closes its connection. Its handler is destroyed.
  void cancel(Id id) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) return;
    stop(*found->second);
    exchanges_.erase(found);
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
      while (!retries_.empty() && retries_.top().first <= Clock::now()) {
        const auto due = exchanges_.find(retries_.top().second);
        retries_.pop();
        if (due != exchanges_.end()) start(*due->second);
      }
      go_on = loop_.turn(retries_.empty() ? until : std::min(until, retries_.top().first));
      while (const auto ended = loop_.ended()) settle(ended->first, ended->second);
      go_on = go_on && Clock::now() < until;
    }
    return settled_ - before;
  }

 private:
  using Clock = HttpLoop::Clock;

  struct Exchange {
    Id id = 0;
    std::shared_ptr<const HttpEndpoint> endpoint;
    std::string body;
    std::unique_ptr<HttpHandler> handler;
    Clock::time_point deadline;
    int attempts = 0;
    CURL* easy = nullptr;  ///< null between attempts
    std::string received;
    RetryAfter retry_after;
    char detail[CURL_ERROR_SIZE] = {};
  };

  static Clock::duration span(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  void start(Exchange& exchange) {
    const HttpOptions& options = exchange.endpoint->options();
    const auto left = std::chrono::duration<double>(exchange.deadline - Clock::now()).count();
    const auto milliseconds = [](double seconds) { return std::max(1L, static_cast<long>(seconds * 1000)); };
    if (idle_.empty()) idle_.push_back(curl_easy_init());
    CURL* easy = exchange.easy = idle_.back();
    idle_.pop_back();
    exchange.received.clear();
    exchange.retry_after = RetryAfter();
    exchange.detail[0] = '\0';
    ++exchange.attempts;
    curl_easy_setopt(easy, CURLOPT_URL, exchange.endpoint->url().c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange.endpoint->headers());
    if (exchange.body.empty()) {
      curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    } else {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange.body.data());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(exchange.body.size()));
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &exchange);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange.detail);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "espalier");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout_s));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(std::min(options.timeout_s, left)));
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options.verify_tls ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options.verify_tls ? 2L : 0L);
    if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
    loop_.add(easy);
    exchange.handler->attempt();
  }

  void stop(Exchange& exchange) {
    if (!exchange.easy) return;
    loop_.remove(exchange.easy);
    curl_easy_reset(exchange.easy);
    idle_.push_back(std::exchange(exchange.easy, nullptr));
  }

  /// An attempt has ended: hands the reply over, or plans the next attempt, or gives up.
  void settle(CURL* easy, CURLcode code) {
    char* ended = nullptr;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &ended);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    auto node = exchanges_.extract(reinterpret_cast<Exchange*>(ended)->id);
    Exchange& exchange = *node.mapped();
    stop(exchange);
    try {
      if (code != CURLE_OK) throw transport_error(exchange, code);
      if (status / 100 != 2) throw status_error(exchange, status);
      exchange.handler->reply(exchange.received);
      ++settled_;
    } catch (const BackendError& error) {
      if (!retry(exchange, error)) return;
      exchanges_.insert(std::move(node));
    }
  }

  /// True if another attempt is planned; else the handler has been told.
  bool retry(Exchange& exchange, const BackendError& error) {
    const HttpOptions& options = exchange.endpoint->options();
    std::string what = (exchange.body.empty() ? "GET " : "POST ") + exchange.endpoint->shown() + ": " + exchange.endpoint->excerpt(error.what());
    if (error.kind() == BackendError::Kind::transport) {
      const double jitter = backoff(options, exchange.attempts, jitter_.uniform());
      const double wait = std::max(jitter, exchange.retry_after.seconds().value_or(0));
      const double left = std::chrono::duration<double>(exchange.deadline - Clock::now()).count();
      if (wait < left && (options.max_attempts == 0 || exchange.attempts < options.max_attempts)) {
        retries_.emplace(Clock::now() + span(wait), exchange.id);
        return true;
      }
      what += " (given up after attempt " + std::to_string(exchange.attempts) + ")";
    }
    exchange.handler->failure(BackendError(what, error.kind()));
    ++settled_;
    return false;
  }

  static BackendError transport_error(const Exchange& exchange, CURLcode code) {
    if (exchange.received.size() > exchange.endpoint->options().max_response_bytes)
      return BackendError("the reply is longer than max_response_bytes");
    const bool tls = code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION;
    const std::string detail = tls && exchange.detail[0] ? ": " + std::string(exchange.detail) : "";
    return BackendError(curl_easy_strerror(code) + detail, code == CURLE_PEER_FAILED_VERIFICATION
                                                               ? BackendError::Kind::permanent
                                                               : BackendError::Kind::transport);
  }
  BackendError status_error(Exchange& exchange, long status) {
    ServerError error;
    try {
      error = find_error(json_.read(exchange.received), true).value_or(ServerError());
    } catch (const BackendError&) {  // no JSON: the text itself is the message
    }
    const std::string& said = error.message.empty() ? exchange.received : error.message;
    const std::string what = status / 100 == 3 ? "redirects are not followed" : said;
    const bool tells = exchange.body.empty() && status != 429 && (status < 502 || status > 504);
    return BackendError("HTTP " + std::to_string(status) + (what.empty() ? "" : ": " + what),
                        tells ? BackendError::Kind::permanent : failure_kind(status, error));
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    Exchange& exchange = *static_cast<Exchange*>(self);
    exchange.received.append(data, size);
    return exchange.received.size() > exchange.endpoint->options().max_response_bytes ? 0 : size;
  }
  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    static_cast<Exchange*>(self)->retry_after.read(std::string_view(data, size), std::time(nullptr));
    return size;
  }

  using Retry = std::pair<Clock::time_point, Id>;
  HttpLoop loop_;
  std::vector<CURL*> idle_;
  std::unordered_map<Id, std::unique_ptr<Exchange>> exchanges_;
  std::priority_queue<Retry, std::vector<Retry>, std::greater<>> retries_;
  Random jitter_{Seed(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()))};
  JsonReader json_;
  Id next_ = 1;
  std::size_t settled_ = 0;
};

}  // namespace espalier::backend
