#pragma once

#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/read_embedding.hpp>
#include <espalier/backend/http/detail/service.hpp>
#include <espalier/backend/http/detail/tokenizer.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/passage.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The input of an embedding: a text or token ids.
class EmbeddingInput {
 public:
  explicit EmbeddingInput(std::string t) : text(std::move(t)) {}
  explicit EmbeddingInput(TokenIds t) : ids(std::move(t)) {}
  std::string text;
  TokenIds ids;  ///< empty = the text
};

struct EmbeddingsOptions {
  std::string model;
  std::size_t truncate = 0;   ///< tells the server to cut texts to this many tokens, 0 = no
  bool base64 = false;        ///< ask for base64 instead of decimal numbers (replies may have either)
  std::size_t dimension = 0;  ///< of every embedding, 0 = that of the first one
  std::size_t batch = 64;     ///< largest number of texts in one message
};

/// A client of OpenAI's /embeddings, used by HttpEncoder.
class HttpEmbeddings final : public HttpService<EmbeddingInput, Embedding> {
 public:
  HttpEmbeddings(std::shared_ptr<const HttpEndpoint> endpoint, EmbeddingsOptions options,
                 std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), endpoint->options().max_in_flight, options.batch),
        endpoint_(std::move(endpoint)),
        options_(std::move(options)) {}

 private:
  std::shared_ptr<const HttpEndpoint> write(std::span<const EmbeddingInput> group, std::string& body) override {
    JsonWriter json(body);
    json.begin_object().field("model", options_.model).key("input").begin_array();
    for (const EmbeddingInput& input : group) {
      if (input.ids.empty()) {
        json.value(input.text);
        continue;
      }
      json.begin_array();
      for (const std::int64_t id : input.ids) json.value(id);
      json.end_array();
    }
    json.end_array().field("encoding_format", options_.base64 ? "base64" : "float");
    if (options_.truncate) json.field("truncate_prompt_tokens", options_.truncate);
    json.end_object();
    return endpoint_;
  }
  std::vector<std::optional<Embedding>> read(std::span<const EmbeddingInput> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    throw_if_error(root);
    if (nested(root))
      throw BackendError(
          "the reply is a list of nested vectors, as llama.cpp's own /embeddings sends: give the URL up to /v1",
          BackendError::Kind::permanent);
    simdjson::dom::array data;
    if (root["data"].get(data) || data.size() != group.size()) throw BackendError("not one embedding for each text");
    std::vector<std::optional<Embedding>> embeddings(group.size());
    for (const auto item : data) {
      const auto index = field<std::uint64_t>(item, "index");
      if (!index || *index >= embeddings.size() || embeddings[*index])
        throw BackendError("an embedding under a wrong index");
      simdjson::dom::element value;
      if (item["embedding"].get(value)) throw BackendError("an item without an embedding");
      Embedding embedding = read_embedding(value);
      if (options_.dimension == 0) options_.dimension = embedding.size();
      if (embedding.size() != options_.dimension)
        throw BackendError("an embedding of dimension " + std::to_string(embedding.size()) + " instead of " +
                           std::to_string(options_.dimension));
      embeddings[*index] = std::move(embedding);
    }
    return embeddings;
  }

  /// True for replies of another route than OpenAI's: [{"embedding":[[...], ...]}, ...], one vector per token or
  /// pooled.
  static bool nested(simdjson::dom::element root) {
    simdjson::dom::array first;
    return root.is_array() && !root.at_pointer("/0/embedding/0").get(first);
  }

  std::shared_ptr<const HttpEndpoint> endpoint_;
  EmbeddingsOptions options_;
  JsonReader json_;
};

}  // namespace espalier::backend::detail
