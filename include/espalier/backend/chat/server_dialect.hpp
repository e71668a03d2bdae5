#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The dialect of a server, or of several equal ones. It is declared, or found when it is first needed: by the owner of
/// the server's models, or else by routes that only one kind has. A server that cannot be identified is Server::other.
/// A llama.cpp server is always asked for its slots, a server of a watched run is first asked something.
class ServerDialect final : public HttpService<std::size_t, Server> {
 public:
  /// `found` is called with the kind if the server told it. The questions have a fleet of their own and no account.
  ServerDialect(std::optional<Server> declared, std::shared_ptr<HttpFleet> fleet, std::string api_key,
                HttpOptions options, std::function<void(Server)> found, std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), options.max_in_flight),
        server_(declared),
        fleet_(std::move(fleet)),
        key_(std::move(api_key)),
        options_(std::move(options)),
        found_(std::move(found)),
        next_(declared == Server::llamacpp ? slots_route : 0) {
    greets_ = true;
  }

  /// False while the client asks the server. Throws BackendError if it could not be reached. A later call tries again.
  bool known() {
    if (settled()) return true;
    if (!server_ && Url(fleet_->replicas().front().url).host() == "api.openai.com") tell(Server::openai);
    else if (!std::exchange(asking_, true)) failed_ = false, submit(next_, next_);
    for (const auto& reply : poll(std::chrono::milliseconds(0))) {
      asking_ = false;
      next_ = 0;
      const Server found = server_.value_or(reply.outcome.value());  // or its failure
      next_ = reply.ticket + 1;
      if (found == Server::other && !failed_ && next_ <= routes.size()) return known();
      if (!server_) tell(found);
      if (reply.ticket == slots_route) slots_ = std::max<std::size_t>(slots_, 1);
      else if (found == Server::llamacpp) return next_ = slots_route, known();
    }
    return settled();
  }
  /// Call it only once known() is true.
  [[nodiscard]] const Dialect& dialect() const { return dialect_of(*server_); }
  /// The most samples of one prompt that share a message. A server of one slot takes them one by one.
  [[nodiscard]] std::size_t most_samples() const { return dialect().max_n > 0 ? dialect().max_n : slots_; }

 private:
  [[nodiscard]] bool settled() const {
    if (options_.watch && !options_.asks_once() && silent()) return false;
    return server_ && (server_ != Server::llamacpp || slots_ > 0);
  }
  /// True if nothing has come from there yet, as far as anybody watches.
  [[nodiscard]] bool silent() const {
    return !options_.watch || std::isfinite(options_.watch->patience(fleet_->shown(0), 0, true, {}));
  }
  void tell(Server found) {
    server_ = found;
    if (found_ && !failed_) found_(found);
  }
  struct Route {
    std::string_view path;   ///< path at the server's root
    std::string_view field;  ///< a member of its answer
    Server server;           ///< the kind that it identifies
  };
  static constexpr std::array<Route, 4> routes = {{{"/props", "default_generation_settings", Server::llamacpp},
                                                   {"/get_model_info", "model_path", Server::sglang},
                                                   {"/api/version", "version", Server::ollama},
                                                   {"/version", "version", Server::vllm}}};
  static constexpr std::size_t slots_route = 1;  ///< the question that llama.cpp answers with its slots too

  /// Question 0 is for the models, question i for routes[i - 1].
  std::shared_ptr<const HttpEndpoint> write(std::span<const std::size_t> question, std::string&) override {
    const auto target = [&](const Url& base) {
      return question[0] == 0 ? base.below("/models") : base.with_path(std::string(routes[question[0] - 1].path));
    };
    return std::make_shared<const HttpEndpoint>(fleet_, target, key_, options_);
  }
  std::vector<std::optional<Server>> read(std::span<const std::size_t> question, std::string& body) override {
    const auto page = question[0] == 0 ? std::optional(json_.read(body)) : json_.parse(body);
    if (!page || find_error(*page, false)) throw BackendError("no answer", BackendError::Kind::permanent);
    if (question[0] == slots_route) slots_ = field<std::uint64_t>(*page, "total_slots").value_or(1);
    if (question[0] > 0)
      return {(*page)[routes[question[0] - 1].field].error() ? Server::other : routes[question[0] - 1].server};
    std::string_view name;
    if (!(*page)["data"].at(0)["owned_by"].get(name))
      for (const Dialect& dialect : dialects)
        if (!dialect.owner.empty() && dialect.owner == name) return {dialect.server};
    return {Server::other};
  }
  /// A refusal says nothing, nor does a failing gateway, which may still take prompts.
  std::optional<Server> understood(const BackendError& failure) override {
    failed_ = failure.kind() == BackendError::Kind::transport;
    return silent() && (failed_ || options_.watch) ? std::nullopt : std::optional(Server::other);
  }

  std::optional<Server> server_;
  std::shared_ptr<HttpFleet> fleet_;
  std::string key_;
  HttpOptions options_;
  std::function<void(Server)> found_;
  std::size_t next_;       ///< the next question
  std::size_t slots_ = 0;  ///< 0 = not known
  bool asking_ = false, failed_ = false;
};

}  // namespace espalier::backend::detail
