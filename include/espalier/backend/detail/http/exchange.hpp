#pragma once

#include <espalier/backend/detail/http/endpoint.hpp>
#include <espalier/backend/detail/http/fleet.hpp>
#include <espalier/backend/detail/http/loop.hpp>
#include <espalier/backend/detail/http/transfer.hpp>
#include <espalier/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace espalier::backend::detail {

/// The sender of a request. It is called from inside HttpClient::run_once.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// An attempt begins.
  virtual void attempt() = 0;
  /// The body of a reply with a status of 2xx. Throws BackendError if the body is not usable (transport = try again).
  virtual void reply(std::string& body) = 0;
  /// No attempt succeeded. This is the last call.
  virtual void failure(const BackendError& error) = 0;
};

/// A request with all its attempts.
struct HttpExchange {
  using Time = HttpLoop::Clock::time_point;
  static constexpr Time never = Time::max();

  std::uint64_t id = 0;
  std::shared_ptr<const HttpEndpoint> endpoint;
  std::string body;
  std::unique_ptr<HttpHandler> handler;
  std::uint64_t affinity = 0;
  std::optional<Time> deadline;  ///< counted from the first attempt
  int attempts = 0;
  std::size_t moves = 0;                ///< additional attempts that do not count, because their server was down
  std::size_t avoid = HttpFleet::none;  ///< the server where it failed last
  Time due = never;                     ///< time of the next attempt
  std::unique_ptr<HttpTransfer> under_way;
  std::uint64_t number = 0;  ///< of the attempt under way, at its server
};

}  // namespace espalier::backend::detail
