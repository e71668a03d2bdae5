#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/chat/ollama_reply.hpp>
#include <espalier/backend/chat/ollama_stream.hpp>
#include <espalier/backend/chat/openai_reply.hpp>
#include <espalier/backend/chat/openai_request.hpp>
#include <espalier/backend/chat/server_dialect.hpp>
#include <espalier/backend/chat/streamed_reply.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/backend/http/replica.hpp>
#include <espalier/backend/http/service.hpp>
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
  bool stream = false;          ///< replies come in chunks, for gateways that cut connections which stay silent
  std::string extra_body = {};  ///< a JSON object merged into each body (openai_request.hpp)
  HttpOptions http = {};
};

/// The servers that the options name, the first of them `url`.
inline std::shared_ptr<HttpFleet> fleet_of(const OpenAiOptions& options) {
  std::vector<Replica> servers{{options.url}};
  servers.insert(servers.end(), options.replicas.begin(), options.replicas.end());
  return std::make_shared<HttpFleet>(std::move(servers), options.http);
}

/// The model as an asynchronous service. What a prompt needs and the server's sort lacks is emulated (n) or fails by name
/// (refusal.hpp). Throws std::invalid_argument for bad options.
class OpenAi final : public HttpService<Prompt, Completion> {
 public:
  /// A `client` may be shared with other services; null = one of its own.
  explicit OpenAi(OpenAiOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight),
        options_(std::move(options)),
        request_(options_.model, options_.chat, options_.extra_body, options_.stream),
        key_(read_api_key(options_.api_key_env, options_.api_key_file)),
        server_(options_.server, fleet_of(options_), key_, options_.http, options_.on_server),
        fleet_(fleet_of(options_)),
        chat_(at("/chat/completions")),
        plain_(at("/completions")) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
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
  [[nodiscard]] std::shared_ptr<const HttpEndpoint> at(const char* route) const {
    return std::make_shared<const HttpEndpoint>(fleet_, [=](const Url& base) { return base.below(route); }, key_, options_.http);
  }
  [[nodiscard]] std::shared_ptr<const HttpEndpoint> at_root(const char* route) const {
    return std::make_shared<const HttpEndpoint>(fleet_, [=](const Url& base) { return base.with_path(route); }, key_, options_.http);
  }
  [[nodiscard]] bool ollama() const { return server_.dialect().server == Server::ollama; }
  bool prepared() override {
    if (!server_.known(client())) return false;
    if (ollama() && !native_) {
      native_ = true;
      chat_ = at_root("/api/chat");
      plain_ = at_root("/api/generate");
    }
    return true;
  }
  [[nodiscard]] bool joins(std::span<const Prompt> group, const Prompt& next) const override {
    const Dialect& dialect = server_.dialect();
    const std::size_t most = dialect.server == Server::other && options_.native_n ? 128 : dialect.max_n;
    return group.size() < most && !next.greedy() && next.shared_body() == group.back().shared_body() &&
           next.seed() == group.back().seed() && next.sample() == group.back().sample() + 1;
  }
  std::shared_ptr<const HttpEndpoint> write(std::span<const Prompt> group, std::string& body) override {
    body = request_.write(group, server_.dialect());
    return request_.chat(group.front().body()) ? chat_ : plain_;
  }
  std::vector<std::optional<Completion>> read(std::span<const Prompt> group, std::string& body) override {
    if (options_.stream && ollama()) body = whole_ollama(body, json_);
    else if (options_.stream && !body.starts_with('{')) body = StreamedReply::whole(body, json_);  // "{": it came whole all the same
    const auto root = json_.read(body);
    if (ollama()) return {read_ollama(root, group.front())};
    return read_completions(root, group, server_.dialect());
  }

  OpenAiOptions options_;
  OpenAiRequest request_;
  JsonReader json_;
  std::string key_;
  ServerDialect server_;
  std::shared_ptr<HttpFleet> fleet_;
  std::shared_ptr<const HttpEndpoint> chat_, plain_;
  bool native_ = false;  ///< they are Ollama's own routes
};

}  // namespace espalier::backend
