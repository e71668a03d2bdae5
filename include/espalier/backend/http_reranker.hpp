#pragma once

#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/backend/rerank.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A cross-encoder behind /rerank, /v1/rerank or /v2/rerank (vLLM, SGLang, llama.cpp).
struct HttpRerankerOptions {
  std::string url = "http://127.0.0.1:8000/rerank";  ///< without a path /rerank is added
  std::string model = {};                            ///< the model's name at the server, not empty
  std::string revision = {};                         ///< of the model's weights, for the fingerprint, "" = none
  std::string api_key_env = "OPENAI_API_KEY";        ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                     ///< file with the key, takes precedence over api_key_env
  HttpOptions http = {};
};

/// Sends one message per query. Throws std::invalid_argument for bad options.
class HttpReranker final : public detail::HttpService<RerankRequest, RerankRequest::Scores> {
 public:
  explicit HttpReranker(HttpRerankerOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight), options_(std::move(options)) {
    if (options_.model.empty())
      bad_option("name", "empty", "a name of the model at " + detail::shown_address(options_.url) + ": URL?name=NAME");
    const detail::Url url(options_.url);
    const std::string path = url.path().size() > 1 ? url.path() : "/rerank";
    if (!path.ends_with("/rerank")) bad_option("url", url.shown(), "an address that ends in /rerank");
    endpoint_ = std::make_shared<const detail::HttpEndpoint>(
        url.with_path(path), detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add(std::string_view("http reranker")).add(options_.model).add(options_.revision).finish();
  }

 private:
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const RerankRequest> group, std::string& body) override {
    const RerankRequest& request = group.front();
    JsonWriter json(body);
    json.begin_object().field("model", options_.model).field("query", request.query);
    json.key("documents").array(request.texts);
    json.field("top_n", request.texts.size()).end_object();  // some return fewer unless told
    return endpoint_;
  }
  /// Reads {"results": [{"index", "relevance_score"}]} and a bare list of {"index", "score"}.
  std::vector<std::optional<RerankRequest::Scores>> read(std::span<const RerankRequest> group,
                                                         std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    detail::throw_if_error(root);
    simdjson::dom::array items;
    if (root.get(items) && root["results"].get(items)) throw BackendError("a reply without results");
    RerankRequest::Scores scores(group.front().texts.size(), std::nan(""));
    if (items.size() != scores.size()) throw BackendError("not one score for each text");
    for (const auto item : items) {
      const auto index = detail::field<std::uint64_t>(item, "index");
      if (!index || *index >= scores.size() || !std::isnan(scores[*index]))
        throw BackendError("a score under a wrong index");
      const auto score = detail::first_field<double>(item, {"relevance_score", "score"});
      if (!score) throw BackendError("a result without a score");
      scores[*index] = *score;
    }
    return {std::move(scores)};
  }

  HttpRerankerOptions options_;
};

}  // namespace espalier::backend
