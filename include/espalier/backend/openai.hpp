#pragma once

#include <espalier/backend/dialect.hpp>
#include <espalier/backend/http_client.hpp>
#include <espalier/backend/http_fleet.hpp>
#include <espalier/backend/http_service.hpp>
#include <espalier/backend/json_reader.hpp>
#include <espalier/backend/ollama_reply.hpp>
#include <espalier/backend/openai_reply.hpp>
#include <espalier/backend/openai_request.hpp>
#include <espalier/backend/replica.hpp>
#include <espalier/backend/server_probe.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/prompt.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A language model behind a server that speaks OpenAI's protocol, or Ollama's.
struct OpenAiOptions {
  std::string url = "http://127.0.0.1:8000/v1";  ///< what stands before /chat/completions
  std::vector<Replica> replicas = {};            ///< further servers with the same model
  std::string model = {};                        ///< the model's name at the server, not empty
  std::string revision = {};                     ///< of the model's weights, for the fingerprint; "" = none
  std::string api_key_env = "OPENAI_API_KEY";    ///< environment variable with the key; unset or "" = no key is sent
  std::string api_key_file = {};                 ///< file with the key, goes before api_key_env
  bool chat = true;                              ///< /chat/completions; raw prompts go to /completions either way
  std::optional<Server> server = Server::other;  ///< its sort; nothing = the server is asked before the first request
  std::function<void(Server)> on_server = {};    ///< hears what the server was found to be
  bool native_n = false;        ///< a server of another sort knows `n`: waiting samples of one prompt share a message
  std::string extra_body = {};  ///< a JSON object merged into each body (openai_request.hpp)
  HttpOptions http = {};
};

/// The model as an asynchronous service. What a prompt needs and the server's sort lacks is emulated (n) or fails by name
/// (refusal.hpp). Throws std::invalid_argument for bad options.
class OpenAi final : public HttpService<Prompt, Completion> {
 public:
  /// A `client` may be shared with other services; null = one of its own.
  explicit OpenAi(OpenAiOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight),
        options_(std::move(options)),
        request_(options_.model, options_.chat, options_.extra_body) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    std::vector<Replica> servers{{options_.url}};
    servers.insert(servers.end(), options_.replicas.begin(), options_.replicas.end());
    fleet_ = std::make_shared<HttpFleet>(std::move(servers), options_.http);
    key_ = read_api_key(options_.api_key_env, options_.api_key_file);
    route(options_.server.value_or(Server::other));
  }
  /// The servers behind it.
  [[nodiscard]] const std::shared_ptr<HttpFleet>& fleet() const { return fleet_; }
  /// Identity of the model: name, revision, chat or plain, extra body; never address or key.
  [[nodiscard]] Hash fingerprint() const {
    return Hasher()
        .add(std::string_view("openai"))
        .add(options_.model)
        .add(options_.revision)
        .add(std::uint64_t(options_.chat))
        .add(options_.extra_body)
        .finish();
  }

 private:
  bool prepared() override {
    if (options_.server) return true;
    if (!probe_) probe_.emplace(client(), Url(options_.url), key_, options_.http);
    try {
      options_.server = probe_->found();
    } catch (const BackendError&) {
      probe_.reset();  // whoever asks later finds out for himself
      throw;
    }
    if (!options_.server) return false;
    probe_.reset();
    route(*options_.server);
    if (options_.on_server) options_.on_server(*options_.server);
    return true;
  }
  /// Where requests to a server of that sort go.
  void route(Server server) {
    dialect_ = dialect_of(server);
    if (server == Server::other && options_.native_n) dialect_.max_n = 128;
    const auto to = [&](const char* ollama, const char* others) {
      const auto target = [=](const Url& base) { return server == Server::ollama ? base.with_path(ollama) : base.below(others); };
      return std::make_shared<const HttpEndpoint>(fleet_, target, key_, options_.http);
    };
    chat_ = to("/api/chat", "/chat/completions");
    plain_ = to("/api/generate", "/completions");
  }
  [[nodiscard]] bool joins(std::span<const Prompt> group, const Prompt& next) const override {
    return group.size() < dialect_.max_n && !next.greedy() && next.shared_body() == group.back().shared_body() &&
           next.seed() == group.back().seed() && next.sample() == group.back().sample() + 1;
  }
  std::shared_ptr<const HttpEndpoint> write(std::span<const Prompt> group, std::string& body) override {
    body = request_.write(group, dialect_);
    return request_.chat(group.front().body()) ? chat_ : plain_;
  }
  std::vector<std::optional<Completion>> read(std::span<const Prompt> group, std::string& body) override {
    const auto root = json_.read(body);
    if (dialect_.server == Server::ollama) return {read_ollama(root, group.front())};
    return read_completions(root, group, dialect_);
  }

  OpenAiOptions options_;
  OpenAiRequest request_;
  JsonReader json_;
  std::string key_;
  Dialect dialect_ = dialect_of(Server::other);
  std::shared_ptr<HttpFleet> fleet_;
  std::shared_ptr<const HttpEndpoint> chat_, plain_;
  std::optional<ServerProbe> probe_;
};

}  // namespace espalier::backend
