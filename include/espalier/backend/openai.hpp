#pragma once

#include <espalier/backend/chat/dialect.hpp>
#include <espalier/backend/chat/openai_request.hpp>
#include <espalier/backend/chat/reply.hpp>
#include <espalier/backend/chat/server_dialect.hpp>
#include <espalier/backend/detail/chat/refusal.hpp>
#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/llm/prompt.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Options of a language model behind a server with OpenAI's or Ollama's interface.
struct OpenAiOptions {
  std::string url = "http://127.0.0.1:8000/v1";  ///< the part before /chat/completions
  std::vector<std::string> endpoints = {};       ///< further servers with the same model: URL, or URL*WEIGHT
  std::string model = {};                        ///< the model's name at the server, not empty
  std::string revision = {};                     ///< of the model's weights, for the fingerprint, "" = none
  std::string api_key_env = "OPENAI_API_KEY";    ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                 ///< file with the key, takes precedence over api_key_env
  bool chat = true;                              ///< use /chat/completions. Raw prompts always go to /completions
  std::optional<Server> server = Server::other;  ///< its kind. Nothing = ask the server before the first request
  std::function<void(Server)> on_server = {};    ///< called with the kind that was found
  bool stream = false;                           ///< replies come in chunks, for gateways that cut silent connections
  std::string extra_body = {};                   ///< a JSON object merged into each body (openai_request.hpp)
  std::string thinking = {};  ///< "on", "off" or the tokens of a thought, "" = the model's default (user_fields.hpp)
  std::string finish_reasons = {};  ///< endings of answers besides the usual ones: NAME,NAME
  std::string session = {};         ///< what names a request's question to routers (user_fields.hpp), "" = nothing
  bool in_process = false;          ///< llama.cpp in this process: nobody can give it another context while it runs
  HttpOptions http = {};
};

namespace detail {

/// The servers of the options, `url` first. Throws std::invalid_argument for a bad address.
inline std::shared_ptr<HttpFleet> fleet_of(const OpenAiOptions& options) {
  std::vector<Replica> servers{{options.url}};
  for (const std::string& endpoint : options.endpoints) servers.push_back(read_replica(endpoint));
  for (const Replica& server : servers) (void)Url(server.url);
  return std::make_shared<HttpFleet>(std::move(servers), options.http);
}

}  // namespace detail

/// The model as an asynchronous service. If the server's kind lacks something that a prompt needs, it is emulated (n),
/// or the request fails with its name (refusal.hpp). Throws std::invalid_argument for bad options.
class OpenAi final : public detail::HttpService<Prompt, Completion> {
 public:
  /// A `client` may be shared with other services. null = a new one.
  explicit OpenAi(OpenAiOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight),
        options_(std::move(options)),
        request_(options_.model, options_.chat, options_.extra_body, options_.stream, options_.thinking),
        session_(options_.session, options_.extra_body),
        key_(detail::read_api_key(options_.api_key_env, options_.api_key_file)),
        server_(options_.server, detail::fleet_of(options_), key_, options_.http, options_.on_server, this->client()),
        fleet_(detail::fleet_of(options_)) {
    joins_ = true;
    if (options_.finish_reasons.find_first_of(" ;|'\"") != std::string::npos)
      bad_option("finish_reasons", options_.finish_reasons, "names that this server gives to endings: NAME,NAME");
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
  }
  /// The servers behind it.
  [[nodiscard]] const std::shared_ptr<detail::HttpFleet>& fleet() const { return fleet_; }
  /// Identity of the model: all options that change its answers. It contains no address and no key.
  [[nodiscard]] Hash fingerprint() const {
    Hasher h;
    h.add(std::string_view("openai")).add(options_.model).add(options_.revision);
    h.add(std::uint64_t(options_.chat)).add(options_.extra_body);
    if (!options_.thinking.empty()) h.add(options_.thinking);
    if (!options_.finish_reasons.empty()) h.add(std::string_view("finish_reasons")).add(options_.finish_reasons);
    return h.finish();
  }

 private:
  [[nodiscard]] bool ollama() const { return server_.dialect().server == Server::ollama; }
  /// Where chats or plain texts go: a route below the URL, or Ollama's own. `header` is a further one, "" = none.
  [[nodiscard]] std::shared_ptr<const detail::HttpEndpoint> route(bool chat, const std::string& header = "") const {
    const auto address = [&](const detail::Url& base) {
      if (ollama()) return base.with_path(chat ? "/api/chat" : "/api/generate");
      return base.below(chat ? "/chat/completions" : "/completions");
    };
    return std::make_shared<const detail::HttpEndpoint>(fleet_, address, key_, options_.http, header);
  }
  bool prepared() override {
    if (!server_.known()) return false;
    if (!chat_) {
      chat_ = route(true);
      plain_ = route(false);
      chooses_ = server_.dialect().server == Server::llamacpp && server_.most_samples() > 1;
    }
    return true;
  }
  [[nodiscard]] bool joins(std::span<const Prompt> group, const Prompt& next) const override {
    // llama.cpp tells all ids only of a sample that is alone, and counts the tokens of others in chunks alone.
    const bool alone = next.sampling().keep_tokens && server_.dialect().server == Server::llamacpp;
    return !alone && group.size() < server_.most_samples() && !next.greedy() && next.seed() == group.back().seed() &&
           next.sample() == group.back().sample() + 1 &&
           (next.shared_body() == group.back().shared_body() || next.body() == group.back().body());
  }
  /// First come, first served, but for llama.cpp, whose slots share nothing: each holds what it read last. There the
  /// oldest question goes first, and each has one message there, its newest: so searches go depth-first in their slots.
  std::size_t next(const std::deque<Item>& line, const Messages& under_way) override {
    std::size_t all = 0, place = line.size(), size = 0;
    for (const auto& [id, message] : under_way) all += message->requests.size();
    const std::size_t most = options_.http.max_in_flight, slots = server_.most_samples() * fleet_->size();
    if (!chooses_ || all >= std::min(most, slots)) return chooses_ || all >= most ? line.size() : 0;
    std::set<std::uint64_t> busy;
    for (const auto& [id, message] : under_way) busy.insert(message->affinity);
    busy.erase(0);  // of no question
    std::pair<std::size_t, std::size_t> first(ages_.size() + line.size(), 0);
    for (std::size_t at = 0, end = 0; at < line.size(); at = end) {
      const std::uint64_t question = line[at].request.affinity();
      const auto joined = [&] { return joins({&line[end - 1].request, 1}, line[end].request); };
      for (end = at + 1; end < line.size() && end - at < server_.most_samples() && joined();) ++end;
      const std::pair turn(ages_.try_emplace(question, ages_.size()).first->second, question ? line.size() - at : at);
      if (busy.contains(question) || turn >= first) continue;
      first = turn, place = at, size = end - at;
    }
    return all + size <= slots ? place : line.size();
  }
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const Prompt> group, std::string& body) override {
    body = request_.write(group, server_.dialect());
    const bool chat = request_.chat(group.front().body());
    const std::string header = session_.mark(body, group.front().affinity());
    return !header.empty() ? route(chat, header) : chat ? chat_ : plain_;
  }
  /// A prompt that is too long for the model's context stays so, however often the run is started.
  std::optional<Completion> understood(const BackendError& refused) override {
    if (refused.kind() != BackendError::Kind::too_long) return std::nullopt;
    return detail::too_long(refused.what(), options_.in_process);
  }
  std::vector<std::optional<Completion>> read(std::span<const Prompt> group, std::string& body) override {
    const detail::Dialect& dialect = server_.dialect();
    const bool chunks = request_.in_chunks(group, dialect) && (ollama() || !body.starts_with('{'));  // "{": it has none
    auto reply = chunks ? detail::ChatReply::streamed(body, dialect, json_)
                        : detail::ChatReply::whole(json_.read(body), dialect);
    std::string doubt;
    auto completions = reply.completions(group, doubt, options_.finish_reasons);
    replaced_ = reply.broken;
    if (!doubt.empty() && options_.http.watch) options_.http.watch->remark(fleet_->shown(0), doubt);
    return completions;
  }

  OpenAiOptions options_;
  detail::OpenAiRequest request_;
  detail::Session session_;
  std::string key_;
  detail::ServerDialect server_;
  std::shared_ptr<detail::HttpFleet> fleet_;
  std::shared_ptr<const detail::HttpEndpoint> chat_, plain_;  ///< once the server's kind is known
  std::map<std::uint64_t, std::size_t> ages_;                 ///< of questions in the order in which they came
};

}  // namespace espalier::backend
