#pragma once

#include <espalier/backend/chat/detail/server_probe.hpp>
#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/http/detail/fleet.hpp>
#include <espalier/core/error.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace espalier::backend::detail {

/// The dialect of a server, or of several equal ones. It is declared, or found when it is first needed.
class ServerDialect {
 public:
  /// `found` is called with the kind that was found.
  ServerDialect(std::optional<Server> declared, std::shared_ptr<HttpFleet> fleet, std::string api_key,
                HttpOptions options, std::function<void(Server)> found)
      : server_(declared),
        fleet_(std::move(fleet)),
        key_(std::move(api_key)),
        options_(std::move(options)),
        found_(std::move(found)) {}

  /// False while the server is being asked. Throws BackendError if it cannot be reached. A later call tries again.
  bool known(HttpClient& client) {
    if (server_) return true;
    if (!probe_) probe_.emplace(client, fleet_, key_, options_);
    try {
      server_ = probe_->found();
    } catch (const BackendError&) {
      probe_.reset();
      throw;
    }
    if (!server_) return false;
    probe_.reset();
    if (found_) found_(*server_);
    return true;
  }
  /// The server has shown that it is of another kind.
  void learn(Server server) {
    server_ = server;
    if (found_) found_(server);
  }
  /// Call it only once known() is true.
  [[nodiscard]] const Dialect& dialect() const { return dialect_of(*server_); }

 private:
  std::optional<Server> server_;
  std::shared_ptr<HttpFleet> fleet_;
  std::string key_;
  HttpOptions options_;
  std::function<void(Server)> found_;
  std::optional<ServerProbe> probe_;
};

}  // namespace espalier::backend::detail
