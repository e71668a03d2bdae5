#pragma once

#include <espalier/backend/detail/http/endpoint.hpp>
#include <espalier/backend/detail/http/fleet.hpp>
#include <espalier/backend/detail/http/loop.hpp>
#include <espalier/backend/detail/http/transfer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Asks resting servers about their health until they are healthy. The first wait is HttpOptions::backoff_s, and each
/// next one is twice as long, up to backoff_limit_s.
class HttpProbes {
 public:
  using Clock = HttpLoop::Clock;

  /// Both must outlive the probes.
  HttpProbes(HttpLoop& loop, HttpTransfers& idle) : loop_(&loop), idle_(&idle) {}
  HttpProbes(const HttpProbes&) = delete;
  HttpProbes& operator=(const HttpProbes&) = delete;
  ~HttpProbes() {
    for (const Probe& probe : probes_)
      if (probe.transfer) loop_->remove(probe.transfer->easy());
  }

  /// Adds a server that has begun to rest.
  void add(std::shared_ptr<const HttpEndpoint> endpoint, std::size_t server) {
    const double rest_s = endpoint->options().backoff_s;
    probes_.push_back({std::move(endpoint), server, rest_s, Clock::now() + span(rest_s)});
  }
  /// Asks the servers whose time has come. Returns the time of the next one.
  Clock::time_point wake(Clock::time_point now) {
    auto next = Clock::time_point::max();
    for (Probe& probe : probes_) {
      if (!probe.transfer && probe.due <= now) ask(probe);
      if (!probe.transfer) next = std::min(next, probe.due);
    }
    return next;
  }
  /// Handles the end of a probe's transfer. Returns the fleet of a server that is healthy again, or null.
  HttpFleet* ended(const HttpTransfer& transfer, CURLcode code) {
    const auto probe =
        std::find_if(probes_.begin(), probes_.end(), [&](const Probe& p) { return p.transfer.get() == &transfer; });
    const long status = code == CURLE_OK ? transfer.status() : 0;
    idle_->put_back(std::move(probe->transfer));
    const bool not_offered = status >= 300 && status < 500 && status != 408 && status != 429;
    if (not_offered && ++probe->question < probe->endpoint->probes(probe->server).size()) {
      ask(*probe);
      return nullptr;
    }
    if (not_offered || status / 100 == 2) {
      HttpFleet& fleet = probe->endpoint->fleet();
      fleet.revive(probe->server);
      probes_.erase(probe);
      return &fleet;
    }
    probe->question = 0;
    probe->rest_s = std::min(2 * probe->rest_s, probe->endpoint->options().backoff_limit_s);
    probe->due = Clock::now() + span(probe->rest_s);
    return nullptr;
  }

 private:
  struct Probe {
    std::shared_ptr<const HttpEndpoint> endpoint;
    std::size_t server;
    double rest_s;
    Clock::time_point due;
    std::size_t question = 0;  ///< index in HttpEndpoint::probes
    std::unique_ptr<HttpTransfer> transfer = nullptr;
  };
  static Clock::duration span(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  void ask(Probe& probe) {
    probe.transfer = idle_->take();
    probe.transfer->probe(probe.endpoint, probe.server, probe.endpoint->probes(probe.server)[probe.question]);
    loop_->add(probe.transfer->easy());
  }

  HttpLoop* loop_;
  HttpTransfers* idle_;
  std::vector<Probe> probes_;
};

}  // namespace espalier::backend::detail
