#pragma once

#include <espalier/backend/chat/detail/read_score.hpp>
#include <espalier/backend/chat/detail/refusal.hpp>
#include <espalier/backend/chat/detail/server_dialect.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/service.hpp>
#include <espalier/backend/openai.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/score.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Scores given continuations with a language model at a server: /completions with `echo`, which returns the
/// log-probability of every prompt token. Servers that lack it or return another list are refused by name.
class OpenAiScore final : public detail::HttpService<ScoreRequest, Score> {
 public:
  /// `chat`, `native_n` and `extra_body` are not used.
  explicit OpenAiScore(OpenAiOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight),
        options_(std::move(options)),
        key_(detail::read_api_key(options_.api_key_env, options_.api_key_file)),
        server_(options_.server, detail::fleet_of(options_), key_, options_.http, options_.on_server),
        endpoint_(std::make_shared<const detail::HttpEndpoint>(
            detail::fleet_of(options_), [](const detail::Url& base) { return base.below("/completions"); }, key_,
            options_.http)) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
  }
  /// Identity of the model: name and revision. It contains no address and no key.
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add(std::string_view("openai scores")).add(options_.model).add(options_.revision).finish();
  }

 private:
  bool prepared() override { return server_.known(client()); }
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const ScoreRequest> group, std::string& body) override {
    const detail::Dialect& dialect = server_.dialect();
    if (!dialect.score_max_tokens)
      throw detail::refusal(dialect, "prompt scores (echo)", "it has none, or has others than those of the prompt");
    const ScoreRequest& request = group.front();
    JsonWriter json(body);
    json.begin_object().field("model", options_.model).key("prompt");
    if (request.of_ids()) {
      json.begin_array();
      for (const auto* ids : {&request.prompt_ids(), &request.continuation_ids()})
        for (const std::int32_t id : *ids) json.value(id);
      json.end_array();
    } else {
      json.value(request.prompt() + request.continuation());
    }
    json.field("max_tokens", *dialect.score_max_tokens)
        .field("temperature", 0)
        .field("echo", true)
        .field("logprobs", 1)
        .end_object();
    return endpoint_;
  }
  std::vector<std::optional<Score>> read(std::span<const ScoreRequest> group, std::string& body) override {
    return {detail::read_score(json_.read(body), group.front(),
                               static_cast<std::size_t>(*server_.dialect().score_max_tokens))};
  }

  OpenAiOptions options_;
  detail::JsonReader json_;
  std::string key_;
  detail::ServerDialect server_;
  std::shared_ptr<const detail::HttpEndpoint> endpoint_;
};

}  // namespace espalier::backend
