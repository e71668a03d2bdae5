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

/// The dialect of a server, or of several equal ones. It is declared, or found when it is first needed: by the owner of
/// the server's models, or else by routes that only one kind has. A server that cannot be identified is Server::other.
class ServerDialect {
 public:
  /// `found` is called with the kind that was found. The questions have a fleet of their own, so they are not counted
  /// in any account.
  ServerDialect(std::optional<Server> declared, std::shared_ptr<HttpFleet> fleet, std::string api_key,
                HttpOptions options, std::function<void(Server)> found)
      : server_(declared),
        fleet_(std::move(fleet)),
        key_(std::move(api_key)),
        options_(std::move(options)),
        found_(std::move(found)) {
    if (!server_ && Url(fleet_->replicas().front().url).host() == "api.openai.com") server_ = Server::openai;
  }
  ServerDialect(const ServerDialect&) = delete;
  ServerDialect& operator=(const ServerDialect&) = delete;
  ~ServerDialect() {
    if (under_way_) client_->cancel(*under_way_);
  }

  /// False while the server is being asked. Works while the client runs, which must outlive it. Throws BackendError if
  /// the server could not be reached. A later call tries again.
  bool known(HttpClient& client) {
    if (failure_) throw BackendError(*std::exchange(failure_, std::nullopt));
    client_ = &client;
    if (!server_ && !under_way_) ask(0);
    return server_.has_value();
  }
  /// Call it only once known() is true.
  [[nodiscard]] const Dialect& dialect() const { return dialect_of(*server_); }

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
    Question(ServerDialect& owner, std::size_t n) : dialect(owner), number(n) {}
    void attempt() override {}
    void reply(std::string& body) override {
      const auto found = number == 0 ? dialect.owner(body) : dialect.given_away(body, routes[number - 1]);
      dialect.answered(number, found);
    }
    void failure(const BackendError& error) override {
      dialect.under_way_.reset();
      if (error.kind() == BackendError::Kind::transport) dialect.failure_ = error;
      else dialect.answered(number, std::nullopt);
    }
    ServerDialect& dialect;
    std::size_t number;  ///< 0 = /models, i = routes[i - 1]
  };

  void ask(std::size_t number) {
    const auto target = [&](const Url& base) {
      return number == 0 ? base.below("/models") : base.with_path(std::string(routes[number - 1].path));
    };
    auto endpoint = std::make_shared<const HttpEndpoint>(fleet_, target, key_, options_);
    under_way_ = client_->send(std::move(endpoint), "", std::make_unique<Question>(*this, number));
  }
  void answered(std::size_t number, std::optional<Server> found) {
    under_way_.reset();
    if (!found && number < routes.size()) return ask(number + 1);
    server_ = found.value_or(Server::other);
    if (found_) found_(*server_);
  }
  std::optional<Server> given_away(std::string& body, const Route& route) {
    simdjson::dom::element value;
    try {
      if (!json_.read(body)[route.field].get(value)) return route.server;
    } catch (const BackendError&) {  // a page for people, not JSON
    }
    return std::nullopt;
  }
  std::optional<Server> owner(std::string& body) {
    std::string_view name;
    if (json_.read(body)["data"].at(0)["owned_by"].get(name)) return std::nullopt;
    for (const Dialect& dialect : dialects)
      if (!dialect.owner.empty() && dialect.owner == name) return dialect.server;
    return std::nullopt;
  }

  std::optional<Server> server_;
  std::shared_ptr<HttpFleet> fleet_;
  std::string key_;
  HttpOptions options_;
  std::function<void(Server)> found_;
  JsonReader json_;
  HttpClient* client_ = nullptr;  ///< where the question is under way
  std::optional<HttpClient::Id> under_way_;
  std::optional<BackendError> failure_;
};

}  // namespace espalier::backend::detail
