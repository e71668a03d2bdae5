#pragma once

#include <espalier/backend/http_client.hpp>
#include <espalier/backend/http_service.hpp>
#include <espalier/backend/json_reader.hpp>
#include <espalier/backend/read_hits.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/passage.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A retriever behind a server that speaks Search-R1's protocol.
struct HttpRetrieverOptions {
  std::string url = "http://127.0.0.1:8000/retrieve";  ///< without a path /retrieve is added
  std::string name = {};                               ///< of corpus and index, for the fingerprint; not empty
  std::size_t batch = 16;                              ///< most queries in one message, >= 1
  HttpOptions http = {};
};

/// Sends {"queries", "topk", "return_scores": true}; waiting queries of equal k share a message. A message of one query
/// also carries it as {"query", "top_k"}, which is what DecoupleSearch's server reads. Throws std::invalid_argument for
/// bad options.
class HttpRetriever final : public HttpService<Query, Passages> {
 public:
  /// A `client` may be shared with other services; null = one of its own.
  explicit HttpRetriever(HttpRetrieverOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight), options_(std::move(options)) {
    if (options_.name.empty()) bad_option("name", options_.name, "a name of corpus and index, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    const Url url(options_.url);
    const std::string path = url.path().size() > 1 ? url.path() : "/retrieve";
    endpoint_ = std::make_shared<const HttpEndpoint>(url.with_path(path), "", options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add(std::string_view("http retriever")).add(options_.name).finish();
  }

 private:
  [[nodiscard]] bool joins(std::span<const Query> group, const Query& next) const override {
    return group.size() < options_.batch && group.front().k == next.k;
  }
  std::shared_ptr<const HttpEndpoint> write(std::span<const Query> group, std::string& body) override {
    JsonWriter json(body);
    json.begin_object().key("queries").begin_array();
    for (const Query& query : group) json.value(query.text);
    json.end_array().field("topk", group.front().k).field("return_scores", true);
    if (group.size() == 1) json.field("query", group.front().text).field("top_k", group.front().k);
    json.end_object();
    return endpoint_;
  }
  /// Reads {"result": [hits of each query]}, and for one query also a bare list of hits: the reply itself, or behind
  /// "result" or "retrieval".
  std::vector<std::optional<Passages>> read(std::span<const Query> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    throw_if_error(root);
    simdjson::dom::array lists, hits;
    const bool keyed = !root["result"].get(lists);
    if (!keyed && root.get(lists) && root["retrieval"].get(lists)) throw BackendError("a reply without results");
    const bool bare = group.size() == 1 && (lists.size() == 0 ? !keyed : lists.at(0).get(hits) != simdjson::SUCCESS);
    if (!bare && lists.size() != group.size())
      throw BackendError(std::to_string(lists.size()) + " results for " + std::to_string(group.size()) + " queries");
    std::vector<std::optional<Passages>> answers;
    if (bare) answers.emplace_back(read_hits(lists, group.front().k));
    else
      for (const auto list : lists) {
        if (list.get(hits)) throw BackendError("a result that is not a list");
        answers.emplace_back(read_hits(hits, group.front().k));
      }
    return answers;
  }

  HttpRetrieverOptions options_;
  JsonReader json_;
  std::shared_ptr<const HttpEndpoint> endpoint_;
};

}  // namespace espalier::backend
