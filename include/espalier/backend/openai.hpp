#pragma once

#include <espalier/backend/http_client.hpp>
#include <espalier/backend/http_service.hpp>
#include <espalier/backend/json_reader.hpp>
#include <espalier/backend/openai_reply.hpp>
#include <espalier/backend/openai_request.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/prompt.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A language model behind a server that speaks OpenAI's protocol.
struct OpenAiOptions {
  std::string url = "http://127.0.0.1:8000/v1";  ///< what stands before /chat/completions
  std::string model = {};                        ///< the model's name at the server, not empty
  std::string revision = {};                     ///< of the model's weights, for the fingerprint; "" = none
  std::string api_key_env = "OPENAI_API_KEY";    ///< environment variable with the key; unset or "" = no key is sent
  std::string api_key_file = {};                 ///< file with the key, goes before api_key_env
  bool chat = true;                              ///< /chat/completions; raw prompts go to /completions either way
  bool native_n = false;        ///< the server knows `n`: waiting samples of one prompt share a message
  std::string extra_body = {};  ///< a JSON object merged into each body (openai_request.hpp)
  HttpOptions http = {};
};

/// The model as an asynchronous service. Throws std::invalid_argument for bad options.
class OpenAi final : public HttpService<Prompt, Completion> {
 public:
  /// A `client` may be shared with other services; null = one of its own.
  explicit OpenAi(OpenAiOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight),
        options_(std::move(options)),
        request_(options_.model, options_.chat, options_.extra_body) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    const Url url(options_.url);
    const std::string key = read_api_key(options_.api_key_env, options_.api_key_file);
    chat_ = std::make_shared<const HttpEndpoint>(url.below("/chat/completions"), key, options_.http);
    plain_ = std::make_shared<const HttpEndpoint>(url.below("/completions"), key, options_.http);
  }
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
  [[nodiscard]] bool joins(std::span<const Prompt> group, const Prompt& next) const override {
    constexpr std::size_t most = 128;  // choices a message, OpenAI's own limit
    return options_.native_n && group.size() < most && !next.greedy() &&
           next.shared_body() == group.back().shared_body() && next.seed() == group.back().seed() &&
           next.sample() == group.back().sample() + 1;
  }
  std::shared_ptr<const HttpEndpoint> write(std::span<const Prompt> group, std::string& body) override {
    body = request_.write(group);
    return request_.chat(group.front().body()) ? chat_ : plain_;
  }
  std::vector<std::optional<Completion>> read(std::span<const Prompt> group, std::string& body) override {
    return read_completions(json_.read(body), group);
  }

  OpenAiOptions options_;
  OpenAiRequest request_;
  JsonReader json_;
  std::shared_ptr<const HttpEndpoint> chat_, plain_;
};

}  // namespace espalier::backend
