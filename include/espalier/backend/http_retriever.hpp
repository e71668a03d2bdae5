#pragma once

#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/llm/passage.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Reads a passage from one hit of a retrieval server. A hit may be a text, a document, or an object that holds the
/// document (or a text) as "document", "doc" (Pyserini) or "_source" (Elasticsearch), with id and score beside it. A
/// document has `contents`, `text`, `paragraph_text`, `passage` or `snippet`, and may have `title`, `id` and `score`.
/// Without them the id is a hash of title and text, and the score 0. Throws BackendError (transport) for anything else.
inline Passage read_hit(simdjson::dom::element hit) {
  const auto document = first_field<simdjson::dom::element>(hit, {"document", "doc", "_source"}).value_or(hit);
  auto text = first_field<std::string_view>(document, espalier::detail::text_fields);
  auto title = first_field<std::string_view>(document, espalier::detail::title_fields);
  auto contents = field<std::string_view>(document, "contents");
  if (std::string_view whole; !document.get(whole)) contents = whole;
  if (contents) std::tie(title, text) = espalier::detail::split_contents(*contents, title);
  if (!text) throw BackendError("a hit without a text");
  std::string id;
  for (const auto& holder : {document, hit}) {
    if (!id.empty()) break;
    if (const auto name = first_field<std::string_view>(holder, espalier::detail::passage_ids)) id = *name;
    else if (const auto number = first_field<std::int64_t>(holder, espalier::detail::passage_ids))
      id = std::to_string(*number);
  }
  if (id.empty()) id = Hasher().add(title.value_or("")).add(*text).finish().hex();
  const auto score = first_field<double>(hit, {"score", "_score"});
  return Passage(std::move(id), std::string(title.value_or("")), std::string(*text),
                 score ? *score : field<double>(document, "score").value_or(0));
}

/// The ranked hits of one query, at most k.
inline Passages read_hits(simdjson::dom::array hits, std::uint32_t k) {
  Passages passages;
  for (const auto hit : hits)
    if (passages.size() < k) passages.push_back(read_hit(hit));
  return passages;
}

}  // namespace espalier::backend::detail

namespace espalier::backend {

/// A retriever behind a server.
struct HttpRetrieverOptions {
  /// The interface of a retrieval server. Replies are read in any of the known forms.
  enum class Api : std::uint8_t {
    search_r1,     ///< POST {"queries", "topk", "return_scores"}: Search-R1, ProRAG, verl, DecoupleSearch
    rerank,        ///< the same with "topk_retrieval" and "topk_rerank": Search-R1's reranking server
    pyserini,      ///< GET ...?query=&hits=: Pyserini's and Anserini's REST server, /v1/INDEX/search
    elasticsearch  ///< POST .../_msearch: Elasticsearch, OpenSearch. A match over title, contents and text
  };
  std::string url = "http://127.0.0.1:8000/retrieve";  ///< without a path /retrieve is added
  std::string name = {};                               ///< of corpus and index, for the fingerprint, not empty
  Api api = Api::search_r1;
  std::uint32_t rerank_depth = 100;  ///< passages that the reranking server retrieves, at least as many as wanted, >= 1
  std::size_t batch = 16;            ///< largest number of queries in one message, >= 1
  HttpOptions http = {};
};

namespace detail {

/// Throws std::invalid_argument for an unknown name.
inline HttpRetrieverOptions::Api retrieval_api(const std::string& name) {
  if (name == "search-r1") return HttpRetrieverOptions::Api::search_r1;
  if (name == "rerank") return HttpRetrieverOptions::Api::rerank;
  if (name == "pyserini") return HttpRetrieverOptions::Api::pyserini;
  if (name == "elasticsearch") return HttpRetrieverOptions::Api::elasticsearch;
  bad_option("api", name, "search-r1, rerank, pyserini, elasticsearch");
}

}  // namespace detail

/// Waiting queries of equal k share a message. Throws std::invalid_argument for bad options.
class HttpRetriever final : public detail::HttpService<Query, Passages> {
 public:
  /// A `client` may be shared with other services. null = a new one.
  explicit HttpRetriever(HttpRetrieverOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight), options_(std::move(options)) {
    if (options_.name.empty()) bad_option("name", options_.name, "a name of corpus and index, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    if (options_.rerank_depth < 1) bad_option("rerank_depth", options_.rerank_depth, ">= 1");
    const detail::Url url(options_.url);
    const bool added = options_.api == Api::search_r1 || options_.api == Api::rerank;
    const std::string path = url.path().size() > 1 || !added ? url.path() : "/retrieve";
    address_ = url.with_path(path).text();
    endpoint_ = std::make_shared<const detail::HttpEndpoint>(detail::Url(address_), "", options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    Hasher hasher;
    hasher.add(std::string_view("http retriever")).add(options_.name);
    if (options_.api == Api::rerank) hasher.add(std::string_view("rerank")).add(std::uint64_t(options_.rerank_depth));
    return hasher.finish();
  }

 private:
  using Api = HttpRetrieverOptions::Api;

  [[nodiscard]] bool joins(std::span<const Query> group, const Query& next) const override {
    return options_.api != Api::pyserini && group.size() < options_.batch && group.front().k == next.k;
  }
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const Query> group, std::string& body) override {
    const Query& first = group.front();
    if (options_.api == Api::pyserini) {
      const std::string parameters = "query=" + percent_encoded(first.text) + "&hits=" + std::to_string(first.k);
      const bool more = address_.find('?') != std::string::npos;
      return std::make_shared<const detail::HttpEndpoint>(detail::Url(address_ + (more ? "&" : "?") + parameters), "",
                                                          options_.http);
    }
    if (options_.api == Api::elasticsearch) {
      for (const Query& query : group) {
        body += "{}\n";
        JsonWriter json(body);  // a line each
        json.begin_object().field("size", query.k).key("query").begin_object().key("multi_match").begin_object();
        json.field("query", query.text).key("fields").array(std::array{"title", "contents", "text"});
        json.end_object().end_object().end_object();
        body += '\n';
      }
      return endpoint_;
    }
    JsonWriter json(body);
    json.begin_object().key("queries").begin_array();
    for (const Query& query : group) json.value(query.text);
    json.end_array().field("topk", first.k).field("return_scores", true);
    if (options_.api == Api::rerank)
      json.field("topk_retrieval", std::max(first.k, options_.rerank_depth)).field("topk_rerank", first.k);
    else if (group.size() == 1) json.field("query", first.text).field("top_k", first.k);
    json.end_object();
    return endpoint_;
  }
  /// Reads {"result": [hits of each query]} and {"responses": [{"hits": {"hits"}} of each query]}. For one query also a
  /// bare list of hits, as the reply itself or in "result", "results", "retrieval", "candidates" or "hits".
  std::vector<std::optional<Passages>> read(std::span<const Query> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    detail::throw_if_error(root);
    std::vector<std::optional<Passages>> answers;
    simdjson::dom::array lists, hits;
    const bool responses = !root["responses"].get(lists), keyed = responses || !root["result"].get(lists);
    if (!keyed && root.get(lists)) {
      const auto found =
          detail::first_field<simdjson::dom::array>(root, {"results", "retrieval", "candidates", "hits"});
      if (!found) throw BackendError("a reply without results");
      lists = *found;
    }
    const bool alone = group.size() == 1 && !responses;
    if (alone && (lists.size() == 0 ? !keyed : lists.at(0).get(hits) != simdjson::SUCCESS)) {
      answers.emplace_back(detail::read_hits(lists, group.front().k));
      return answers;
    }
    if (lists.size() != group.size())
      throw BackendError(std::to_string(lists.size()) + " results for " + std::to_string(group.size()) + " queries");
    for (const auto list : lists) {
      if (responses) detail::throw_if_error(list);
      if (responses ? list["hits"]["hits"].get(hits) : list.get(hits))
        throw BackendError(responses ? "a response without hits" : "a result that is not a list");
      answers.emplace_back(detail::read_hits(hits, group.front().k));
    }
    return answers;
  }
  static std::string percent_encoded(const std::string& text) {
    const std::unique_ptr<char, void (*)(void*)> encoded(
        curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &curl_free);
    return encoded ? encoded.get() : "";
  }

  HttpRetrieverOptions options_;
  std::string address_;
};

}  // namespace espalier::backend
