#pragma once

#include <espalier/backend/http_client.hpp>
#include <espalier/backend/http_service.hpp>
#include <espalier/backend/json_reader.hpp>
#include <espalier/backend/read_embedding.hpp>
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

/// An encoder behind a server with OpenAI's /embeddings.
struct HttpEncoderOptions {
  std::string url = "http://127.0.0.1:8000/v1";  ///< what stands before /embeddings
  std::string model = {};                        ///< the model's name at the server, not empty
  std::string revision = {};                     ///< of the model's weights, for the fingerprint; "" = none
  std::string api_key_env = "OPENAI_API_KEY";    ///< environment variable with the key; unset or "" = no key is sent
  std::string api_key_file = {};                 ///< file with the key, goes before api_key_env
  std::string query_prefix = {};                 ///< put before queries; "query: " for E5
  std::string passage_prefix = {};               ///< put before passages; "passage: " for E5
  bool normalise = false;                        ///< scale embeddings to length 1
  bool base64 = false;                           ///< ask for base64 instead of decimal numbers; both are understood
  std::size_t dimension = 0;                     ///< of every embedding; 0 = that of the first one
  std::size_t batch = 64;                        ///< most texts in one message, >= 1
  HttpOptions http = {};
};

/// The encoder as an asynchronous service. Throws std::invalid_argument for bad options.
class HttpEncoder final : public HttpService<EncodeRequest, Embedding> {
 public:
  /// A `client` may be shared with other services; null = one of its own.
  explicit HttpEncoder(HttpEncoderOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight),
        options_(std::move(options)),
        dimension_(options_.dimension) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    endpoint_ =
        std::make_shared<const HttpEndpoint>(Url(options_.url).below("/embeddings"),
                                             read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }
  /// Identity of the model and of what is done to texts and embeddings; never address or key.
  [[nodiscard]] Hash fingerprint() const {
    return Hasher()
        .add(std::string_view("http encoder"))
        .add(options_.model)
        .add(options_.revision)
        .add(options_.query_prefix)
        .add(options_.passage_prefix)
        .add(std::uint64_t(options_.normalise))
        .finish();
  }

 private:
  [[nodiscard]] bool joins(std::span<const EncodeRequest> group, const EncodeRequest&) const override {
    return group.size() < options_.batch;
  }
  std::shared_ptr<const HttpEndpoint> write(std::span<const EncodeRequest> group, std::string& body) override {
    JsonWriter json(body);
    json.begin_object().field("model", options_.model).key("input").begin_array();
    for (const auto& request : group) {
      const bool query = request.role == EncodeRequest::Role::query;
      json.value((query ? options_.query_prefix : options_.passage_prefix) + request.text);
    }
    json.end_array().field("encoding_format", options_.base64 ? "base64" : "float").end_object();
    return endpoint_;
  }
  std::vector<std::optional<Embedding>> read(std::span<const EncodeRequest> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    throw_if_error(root);
    simdjson::dom::array data;
    if (root["data"].get(data) || data.size() != group.size()) throw BackendError("not one embedding for each text");
    std::vector<std::optional<Embedding>> embeddings(group.size());
    std::size_t dimension = dimension_;
    for (const auto item : data) {
      const auto index = field<std::uint64_t>(item, "index");
      if (!index || *index >= embeddings.size() || embeddings[*index])
        throw BackendError("an embedding under a wrong index");
      simdjson::dom::element value;
      if (item["embedding"].get(value)) throw BackendError("an item without an embedding");
      Embedding embedding = read_embedding(value);
      if (dimension == 0) dimension = embedding.size();
      if (embedding.size() != dimension)
        throw BackendError("an embedding of dimension " + std::to_string(embedding.size()) + " instead of " +
                           std::to_string(dimension));
      if (options_.normalise) normalise(embedding);
      embeddings[*index] = std::move(embedding);
    }
    dimension_ = dimension;
    return embeddings;
  }

  HttpEncoderOptions options_;
  JsonReader json_;
  std::shared_ptr<const HttpEndpoint> endpoint_;
  std::size_t dimension_;  ///< 0 until the first embedding
};

}  // namespace espalier::backend
