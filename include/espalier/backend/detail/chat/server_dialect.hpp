#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/http/fleet.hpp>
#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/core/error.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend::detail {

/// Finds the kind of a server, or of several equal ones: by the owner of its models, or else by routes that only one
/// kind has. A server that cannot be identified is Server::other. Works while its client runs.
class ServerProbe {
 public:
  /// Starts at once. The client must outlive the probe. The probe has its own fleet, so its requests are not counted in
  /// any account.
  ServerProbe(HttpClient& client, std::shared_ptr<HttpFleet> fleet, std::string api_key, HttpOptions options)
      : client_(client), fleet_(std::move(fleet)), key_(std::move(api_key)), options_(std::move(options)) {
    if (Url(fleet_->replicas().front().url).host() == "api.openai.com") found_ = Server::openai;
    else ask();
  }
  ServerProbe(const ServerProbe&) = delete;
  ServerProbe& operator=(const ServerProbe&) = delete;
  ~ServerProbe() {
    if (under_way_) client_.cancel(*under_way_);
  }

  /// The server's kind, once it is known. Throws BackendError if the server could not be reached.
  [[nodiscard]] std::optional<Server> found() const {
    if (failure_) throw *failure_;
    return found_;
  }

 private:
  struct Route {
    std::string_view path;   ///< path at the server's root
    std::string_view field;  ///< a member of its answer
    Server server;           ///< the kind that it identifies
  };
  static constexpr std::array<Route, 4> routes = {{{"/props", "default_generation_settings", Server::llamacpp},
                                                   {"/get_model_info", "model_path", Server::sglang},
                                                   {"/api/version", "version", Server::ollama},
                                                   {"/version", "version", Server::vllm}}};

  struct Question final : HttpHandler {
    explicit Question(ServerProbe& owner) : probe(owner) {}
    void attempt() override {}
    void reply(std::string& body) override { probe.read(body); }
    void failure(const BackendError& error) override { probe.fail(error); }
    ServerProbe& probe;
  };

  void ask() {
    const auto target = [this](const Url& base) {
      return next_ == 0 ? base.below("/models") : base.with_path(std::string(routes[next_ - 1].path));
    };
    auto endpoint = std::make_shared<const HttpEndpoint>(fleet_, target, key_, options_);
    under_way_ = client_.send(std::move(endpoint), "", std::make_unique<Question>(*this));
  }
  void read(std::string& body) {
    const std::optional<Server> server = next_ == 0 ? owner(json_.read(body)) : given_away(body);
    under_way_.reset();
    if (server) found_ = server;
    else go_on();
  }
  void fail(const BackendError& error) {
    under_way_.reset();
    if (error.kind() == BackendError::Kind::transport) failure_ = error;
    else go_on();
  }
  void go_on() {
    if (next_++ < routes.size()) ask();
    else found_ = Server::other;
  }
  std::optional<Server> given_away(std::string& body) {
    const Route& route = routes[next_ - 1];
    simdjson::dom::element value;
    try {
      if (!json_.read(body)[route.field].get(value)) return route.server;
    } catch (const BackendError&) {  // a page for people, not JSON
    }
    return std::nullopt;
  }
  static std::optional<Server> owner(simdjson::dom::element root) {
    std::string_view name;
    if (root["data"].at(0)["owned_by"].get(name)) return std::nullopt;
    for (const Dialect& dialect : dialects)
      if (!dialect.owner.empty() && dialect.owner == name) return dialect.server;
    return std::nullopt;
  }

  HttpClient& client_;
  std::shared_ptr<HttpFleet> fleet_;
  std::string key_;
  HttpOptions options_;
  JsonReader json_;
  std::size_t next_ = 0;  ///< 0 = /models, i = routes[i - 1]
  std::optional<HttpClient::Id> under_way_;
  std::optional<Server> found_;
  std::optional<BackendError> failure_;
};

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
