#pragma once

#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/service.hpp>
#include <espalier/backend/rerank.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A cross-encoder behind /rerank, /v1/rerank, /v2/rerank (vLLM, SGLang, llama.cpp) or /score, /v1/score (vLLM,
/// SGLang). Or a language model whose next token says whether a text fits, behind SGLang's /v1/score or vLLM's
/// /generative_scoring.
struct HttpRerankerOptions {
  std::string url =
      "http://127.0.0.1:8000/rerank";              ///< its path decides the interface. Without a path /rerank is added
  std::string model = {};                          ///< the model's name at the server, not empty
  std::string revision = {};                       ///< of the model's weights, for the fingerprint, "" = none
  std::string api_key_env = "OPENAI_API_KEY";      ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                   ///< file with the key, takes precedence over api_key_env
  std::vector<std::int64_t> label_token_ids = {};  ///< for a language model: the score is the share of the first
  HttpOptions http = {};
};

/// Sends one message per query. Throws std::invalid_argument for bad options.
class HttpReranker final : public detail::HttpService<RerankRequest, RerankRequest::Scores> {
 public:
  explicit HttpReranker(HttpRerankerOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight), options_(std::move(options)) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    const detail::Url url(options_.url);
    const std::string path = url.path().size() > 1 ? url.path() : "/rerank";
    const bool labels = !options_.label_token_ids.empty(), generative = path.ends_with("/generative_scoring");
    pairs_ = path.ends_with("/score") || generative;
    if (!pairs_ && !path.ends_with("/rerank"))
      bad_option("url", url.shown(), "an address that ends in /rerank or /score, or in /generative_scoring");
    if (labels ? !pairs_ : generative)
      bad_option("label_token_ids", std::to_string(options_.label_token_ids.size()) + " token ids",
                 "some with /generative_scoring, none with /rerank");
    endpoint_ = std::make_shared<const detail::HttpEndpoint>(
        url.with_path(path), detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    Hasher hasher;
    hasher.add(std::string_view("http reranker")).add(options_.model).add(options_.revision);
    for (const std::int64_t id : options_.label_token_ids) hasher.add(static_cast<std::uint64_t>(id));
    return hasher.finish();
  }

 private:
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const RerankRequest> group, std::string& body) override {
    const RerankRequest& request = group.front();
    JsonWriter json(body);
    const auto list = [&](const char* name, const auto& items) {
      json.key(name).begin_array();
      for (const auto& item : items) json.value(item);
      json.end_array();
    };
    json.begin_object().field("model", options_.model).field("query", request.query);
    list(pairs_ ? "items" : "documents", request.texts);
    if (!pairs_) json.field("top_n", request.texts.size());  // some return fewer unless told
    if (!options_.label_token_ids.empty()) {
      list("label_token_ids", options_.label_token_ids);
      json.field("apply_softmax", true);
    } else if (pairs_) {
      json.field("text_1", request.query);
      list("text_2", request.texts);
    }
    json.end_object();
    return endpoint_;
  }
  /// Reads {"results": [{"index", "relevance_score"}]}, {"data": [{"index", "score"}]}, a bare list of {"index",
  /// "score"}, and SGLang's {"scores": [[score of each label]]}.
  std::vector<std::optional<RerankRequest::Scores>> read(std::span<const RerankRequest> group,
                                                         std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    detail::throw_if_error(root);
    simdjson::dom::array items;
    if (!root["scores"].get(items)) return {read_labels(items, group.front().texts.size())};
    if (root.get(items) && root["results"].get(items) && root["data"].get(items))
      throw BackendError("a reply without results");
    RerankRequest::Scores scores(group.front().texts.size(), std::nan(""));
    if (items.size() != scores.size()) throw BackendError("not one score for each text");
    for (const auto item : items) {
      const auto index = detail::field<std::uint64_t>(item, "index");
      if (!index || *index >= scores.size() || !std::isnan(scores[*index]))
        throw BackendError("a score under a wrong index");
      double score = 0;
      if (item["relevance_score"].get(score) && item["score"].get(score))
        throw BackendError("a result without a score");
      scores[*index] = score;
    }
    return {std::move(scores)};
  }

  [[nodiscard]] RerankRequest::Scores read_labels(simdjson::dom::array rows, std::size_t texts) const {
    if (rows.size() != texts) throw BackendError("not one score for each text");
    RerankRequest::Scores scores;
    for (const auto item : rows) {
      simdjson::dom::array row;
      double first = 0;
      if (item.get(row) || row.size() != std::max<std::size_t>(1, options_.label_token_ids.size()) ||
          row.at(0).get(first))
        throw BackendError("not one score for each label");
      scores.push_back(first);
    }
    return scores;
  }

  HttpRerankerOptions options_;
  bool pairs_ = false;  ///< the interface /score
  detail::JsonReader json_;
  std::shared_ptr<const detail::HttpEndpoint> endpoint_;
};

}  // namespace espalier::backend
