#pragma once

#include <espalier/backend/http/detail/endpoint.hpp>
#include <espalier/backend/http/detail/fleet.hpp>
#include <espalier/backend/http/detail/loop.hpp>
#include <espalier/backend/http/detail/transfer.hpp>
#include <espalier/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace espalier::backend::detail {

/// The sender of a request. It is called from inside HttpClient::run_once.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// An attempt begins.
  virtual void attempt() = 0;
  /// The body of a reply with a status of 2xx. Throws BackendError if the body is not usable (transport = try again).
  virtual void reply(std::string& body) = 0;
  /// A copy of an answered request was given up.
  virtual void duplicate() {}
  /// No attempt succeeded. This is the last call.
  virtual void failure(const BackendError& error) = 0;
};

/// A request with all its attempts.
struct HttpExchange {
  using Time = HttpLoop::Clock::time_point;
  static constexpr Time never = Time::max();

  /// An attempt under way.
  struct Attempt {
    std::unique_ptr<HttpTransfer> transfer;
    std::uint64_t number;  ///< its number at this server
  };
  std::uint64_t id = 0;
  std::shared_ptr<const HttpEndpoint> endpoint;
  std::string body;
  std::unique_ptr<HttpHandler> handler;
  std::uint64_t affinity = 0;
  std::optional<Time> deadline;  ///< counted from the first attempt
  int attempts = 0;
  std::size_t moves = 0;                ///< additional attempts that do not count, because their server was down
  std::size_t avoid = HttpFleet::none;  ///< the server where it failed last
  Time due = never;                     ///< time of the next attempt, or of a copy of the one under way
  std::vector<Attempt> under_way;       ///< one attempt, or two with a copy
};

}  // namespace espalier::backend::detail
