#pragma once

#include <espalier/backend/http/endpoint.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

/// The replies that one client is receiving.
struct HttpReceiving {
  std::size_t replies = 0;
  std::size_t bytes = 0;
};

/// One message to one server, and its reply. It is reused. Settings that a server's messages share are set once.
class HttpTransfer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Its reply is one of `all`, which must outlive it.
  explicit HttpTransfer(HttpReceiving& all) : easy_(curl_easy_init(), &curl_easy_cleanup), all_(&all) {
    if (!easy_) throw Error("cannot set up the HTTP client: no libcurl");
  }
  ~HttpTransfer() { forget(); }

  static HttpTransfer& of(CURL* easy) {
    char* self = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
    return *reinterpret_cast<HttpTransfer*>(self);
  }
  [[nodiscard]] CURL* easy() const { return easy_.get(); }
  [[nodiscard]] std::size_t server() const { return server_; }
  [[nodiscard]] std::string& received() { return body_; }
  /// The seconds that the server asks for: retry-after-ms, or else Retry-After (seconds or an HTTP date).
  [[nodiscard]] std::optional<double> retry_after() const {
    if (pause_ms_ > 0 && std::isfinite(pause_ms_)) return pause_ms_ / 1000;
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy(), CURLINFO_RETRY_AFTER, &seconds);
    return seconds > 0 ? std::optional(static_cast<double>(seconds)) : std::nullopt;
  }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  std::uint64_t exchange = 0;  ///< of this exchange
  std::string asked;           ///< the header that asks to wait, with its value

  /// Prepares to send `body`, which must live until the transfer has ended. An empty body means a GET.
  void prepare(const std::shared_ptr<const HttpEndpoint>& endpoint, std::size_t server, const std::string& body,
               double timeout_s) {
    if (endpoint_ != endpoint || server_ != server) {
      if (endpoint_ != endpoint) configure(endpoint);
      server_ = server;
      set(CURLOPT_URL, endpoint->url(server).c_str());
      set(CURLOPT_PIPEWAIT, endpoint->url(server).starts_with("https:") ? 1L : 0L);  // streams before new connections
    }
    if (body.empty()) {
      set(CURLOPT_HTTPGET, 1L);
    } else {
      set(CURLOPT_POSTFIELDS, body.data());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    }
    question_ = body.empty();
    began_ = Clock::now();
    const double connect_s = std::min(endpoint->options().connect_timeout_s, std::max(1.0, endpoint->patience(began_)));
    timeout_s = std::min(timeout_s, std::max(1.0, endpoint->patience(began_, true)));
    set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, static_cast<long>(1000 * connect_s)));
    set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(1000 * timeout_s)));
    pause_ms_ = 0;
    asked.clear();
    detail_[0] = '\0';
  }
  /// Frees the received body. A small buffer is kept for the next one.
  void forget() {
    all_->replies -= held_ > 0;
    all_->bytes -= held_;
    held_ = 0;
    body_.clear();
    if (body_.capacity() > (std::size_t(1) << 16)) body_.shrink_to_fit();
  }

  [[nodiscard]] long status() const {
    long status = 0;
    curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  /// True for a refusal of whatever is asked: a redirect, a wrong key, path or method.
  [[nodiscard]] bool refuses_all() const {
    return status() / 100 == 3 || status() == 401 || (status() > 403 && status() < 408);
  }
  /// The error of a transfer that has ended, if its status is not good.
  [[nodiscard]] std::optional<BackendError> error(CURLcode code, JsonReader& json) {
    if (code == CURLE_WRITE_ERROR)
      return BackendError(held_ > endpoint_->options().max_response_bytes
                              ? "the reply is longer than max_response_bytes"
                              : "the replies under way are longer than max_receiving_bytes together");
    if (code != CURLE_OK) return transport_error(code);
    if (status() / 100 != 2) return status_error(json);
    return std::nullopt;
  }
  /// How the server handled a message whose reply was not usable.
  [[nodiscard]] Served served(CURLcode code, BackendError::Kind kind) const {
    if (code == CURLE_OPERATION_TIMEDOUT) {
      curl_off_t connected = 0;
      curl_easy_getinfo(easy(), CURLINFO_PRETRANSFER_TIME_T, &connected);
      const bool replies = std::isinf(endpoint_->patience(Clock::now(), true));
      return connected > 0 && replies ? Served::stalled : Served::unreachable;
    }
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
        code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION)
      return Served::unreachable;
    const long said = code == CURLE_OK ? status() : 0;
    if (said == 429) return Served::busy;
    if (said == 503) return Served::stalled;
    return kind != BackendError::Kind::transport ? Served::refused : Served::broken;
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy(), option, value);
  }
  void configure(const std::shared_ptr<const HttpEndpoint>& endpoint) {
    curl_easy_reset(easy());
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_ERRORBUFFER, detail_);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_USERAGENT, "espalier");
    set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_HTTPHEADER, endpoint->headers());
    if (const std::string trusted = authorities_file(); !trusted.empty()) set(CURLOPT_CAINFO, trusted.c_str());
    endpoint_ = endpoint;
  }

  [[nodiscard]] BackendError transport_error(CURLcode code) const {
    const bool trust = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    const bool said = trust || code == CURLE_SSL_CONNECT_ERROR || code == CURLE_UNSUPPORTED_PROTOCOL;
    const std::string detail = said && detail_[0] ? ": " + std::string(detail_) : "";
    return BackendError(curl_easy_strerror(code) + detail,
                        trust ? BackendError::Kind::permanent : BackendError::Kind::transport);
  }
  [[nodiscard]] BackendError status_error(JsonReader& json) {
    repair_json(body_);
    const bool tells = question_ && status() != 429 && (status() < 502 || status() > 504);
    const BackendError error = detail::status_error(status(), json.parse(body_), body_);
    return tells ? BackendError(error.what(), BackendError::Kind::permanent) : error;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<HttpTransfer*>(self)->receive({data, size}) ? size : 0;
  }
  /// False if the reply is too long, if all replies are and it has more than its share, or if all are twice too long.
  bool receive(std::string_view data) {
    const HttpOptions& options = endpoint_->options();
    all_->replies += held_ == 0 && !data.empty();
    all_->bytes += data.size();
    held_ += data.size();
    const std::size_t most = options.max_receiving_bytes;
    const bool hoards = all_->bytes > most && held_ > most / all_->replies;
    if (held_ > options.max_response_bytes || hoards || all_->bytes / 2 > most) return false;
    body_ += data;
    return true;
  }
  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    HttpTransfer& transfer = *static_cast<HttpTransfer*>(self);
    for (const std::string_view name : {"retry-after-ms:", "retry-after:"}) {
      if (size <= name.size() || !curl_strnequal(data, name.data(), name.size()) || transfer.pause_ms_ > 0) continue;
      transfer.asked.assign(data, size).erase(std::string_view(data, size).find_last_not_of(" \r\n") + 1);
      if (name.ends_with("ms:")) transfer.pause_ms_ = std::strtod(transfer.asked.c_str() + name.size(), nullptr);
    }
    return size;
  }

  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_;
  std::shared_ptr<const HttpEndpoint> endpoint_;  ///< the endpoint that the handle is configured for, null = none
  std::size_t server_ = 0;
  bool question_ = false;  ///< a GET: any answer is accepted
  HttpReceiving* all_;
  std::string body_;
  std::size_t held_ = 0;  ///< bytes of the body that came
  double pause_ms_ = 0;   ///< of the header retry-after-ms, 0 = none
  Clock::time_point began_{};
  char detail_[CURL_ERROR_SIZE] = {};
};

/// A request with all its attempts. It is told of them from inside HttpClient::run_once.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  /// An attempt begins.
  virtual void attempt() {}
  /// The body of a reply with a status of 2xx. Throws BackendError if the body is not usable (transport = try again).
  virtual void reply(std::string& received) = 0;
  /// No attempt succeeded. This is the last call.
  virtual void failure(const BackendError& error) = 0;

  std::shared_ptr<const HttpEndpoint> endpoint;
  std::string body;            ///< "" = a GET. Then any status but 429, 502, 503 and 504 is an answer, not retried
  std::uint64_t affinity = 0;  ///< equal ones prefer one server, 0 = none
  bool greets = false;         ///< only asks who is there, so that no reply to it is a success

  std::uint64_t id = 0;                     ///< from here on, the client's
  std::optional<HttpFleet::Time> deadline;  ///< counted from the first attempt
  int attempts = 0;
  std::size_t moves = 0;                ///< additional attempts that do not count, because their server was down
  std::size_t avoid = HttpFleet::none;  ///< the server where it failed last
  std::unique_ptr<HttpTransfer> under_way;
  std::uint64_t number = 0;  ///< of the attempt under way, at its server
};

}  // namespace espalier::backend::detail
