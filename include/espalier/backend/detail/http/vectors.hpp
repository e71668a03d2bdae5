#pragma once

#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/json_reader.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/llm/passage.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The interface of a server that answers with numbers for texts.
enum class VectorApi : std::uint8_t {
  embeddings,  ///< OpenAI's /embeddings
  classify,    ///< a reward or value model behind /classify (vLLM, SGLang)
  pooling,     ///< hidden states or token scores behind /pooling (vLLM)
  values       ///< plan and search values, each in [-1, 1], such as those of `espalier serve values`
};

/// What is asked beside the texts.
struct VectorFields {
  VectorApi api = VectorApi::embeddings;
  std::string model;
  std::string task = {};     ///< of /pooling: "embed", "classify" ..., "" = default
  std::size_t truncate = 0;  ///< tells the server to cut texts to this many tokens, 0 = no
};

/// A client of such a server. An input is JSON: a text or a list of token ids. A result holds raw numbers without an
/// activation. If the server gives numbers per token, the last token counts (a step model scores the last step tag).
class HttpVectors final : public HttpService<std::string, Embedding> {
 public:
  HttpVectors(std::shared_ptr<const HttpEndpoint> endpoint, VectorFields fields, std::size_t batch,
              std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), endpoint->options().max_in_flight, batch), fields_(std::move(fields)) {
    endpoint_ = std::move(endpoint);
  }

 private:
  /// vLLM reads `input`, SGLang's /classify reads `text`. Each ignores the other. A value server reads `texts` alone.
  std::shared_ptr<const HttpEndpoint> write(std::span<const std::string> group, std::string& body) override {
    JsonWriter json(body);
    const auto inputs = [&](const char* name) {
      json.key(name).begin_array();
      for (const std::string& input : group) json.raw(input);
      json.end_array();
    };
    json.begin_object();
    if (fields_.api == VectorApi::values) {
      inputs("texts");
      json.end_object();
      return endpoint_;
    }
    json.field("model", fields_.model);
    inputs("input");
    if (fields_.api == VectorApi::classify) inputs("text");
    if (fields_.api == VectorApi::embeddings) json.field("encoding_format", "float");
    if (fields_.truncate) json.field("truncate_prompt_tokens", fields_.truncate);
    if (!fields_.task.empty()) json.field("task", fields_.task);
    if (fields_.api != VectorApi::embeddings) json.field("use_activation", false);
    json.end_object();
    return endpoint_;
  }
  /// {"data": [{"index", "embedding", "probs" or "data"}]}, or SGLang's scores [{"embedding"}] in order.
  std::vector<std::optional<Embedding>> read(std::span<const std::string> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    throw_if_error(root);
    if (fields_.api == VectorApi::values) return read_values(root, group.size());
    const bool embeds = fields_.api == VectorApi::embeddings;
    simdjson::dom::array items, nested;
    const bool bare = !root.get(items);
    if (bare && embeds && !root.at_pointer("/0/embedding/0").get(nested))
      throw BackendError(
          "the reply is a list of nested vectors, as llama.cpp's own /embeddings sends: give the URL up to /v1",
          BackendError::Kind::permanent);
    if ((bare ? embeds : bool(root["data"].get(items))) || items.size() != group.size())
      throw BackendError("not one vector for each text");
    const char* name = bare || embeds ? "embedding" : fields_.api == VectorApi::pooling ? "data" : "probs";
    std::vector<std::optional<Embedding>> vectors(group.size());
    std::size_t next = 0;
    for (const auto item : items) {
      const auto index = bare ? std::optional<std::uint64_t>(next++) : field<std::uint64_t>(item, "index");
      if (!index || *index >= vectors.size() || vectors[*index]) throw BackendError("a vector under a wrong index");
      simdjson::dom::element numbers;
      if (item[name].get(numbers)) throw BackendError("an item without numbers");
      Embedding vector = read_embedding(embeds ? numbers : last_row(numbers));
      if (dimension_ == 0) dimension_ = vector.size();
      if (vector.size() != dimension_)
        throw BackendError("an embedding of dimension " + std::to_string(vector.size()) + " instead of " +
                           std::to_string(dimension_));
      vectors[*index] = std::move(vector);
    }
    return vectors;
  }
  /// {"plan": [...], "search": [...]}, each with one number per text.
  static std::vector<std::optional<Embedding>> read_values(simdjson::dom::element root, std::size_t texts) {
    std::vector<std::optional<Embedding>> values(texts, Embedding(2));
    for (const auto& [name, place] : {std::pair<const char*, std::size_t>("plan", 0), {"search", 1}}) {
      simdjson::dom::array numbers;
      if (root[name].get(numbers) || numbers.size() != texts)
        throw BackendError(std::string("not one number for each text under '") + name + "'");
      std::size_t i = 0;
      for (const auto item : numbers) {
        double number = 0;
        if (item.get(number) || !(number >= -1 && number <= 1))
          throw BackendError(std::string("a value under '") + name + "' that is no number from -1 to 1");
        (*values[i++])[place] = static_cast<float>(number);
      }
    }
    return values;
  }
  /// The last row of a list of lists.
  static simdjson::dom::element last_row(simdjson::dom::element numbers) {
    simdjson::dom::array rows, row;
    while (!numbers.get(rows) && rows.size() > 0 && !rows.at(rows.size() - 1).get(row))
      numbers = rows.at(rows.size() - 1).value_unsafe();
    return numbers;
  }

  VectorFields fields_;
  std::size_t dimension_ = 0;  ///< of the first vector
};

/// Asks llama.cpp's /tokenize for a text's tokens, including special ones, and cuts them, as inputs of HttpVectors.
class HttpTokenizer final : public HttpService<std::string, std::string> {
 public:
  HttpTokenizer(std::shared_ptr<const HttpEndpoint> endpoint, std::size_t most, std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), endpoint->options().max_in_flight), most_(most) {
    endpoint_ = std::move(endpoint);
  }

 private:
  std::shared_ptr<const HttpEndpoint> write(std::span<const std::string> group, std::string& body) override {
    JsonWriter(body).begin_object().field("content", group.front()).field("add_special", true).end_object();
    return endpoint_;
  }
  /// Keeps the first tokens and the last one, which is the separator.
  std::vector<std::optional<std::string>> read(std::span<const std::string>, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    throw_if_error(root);
    simdjson::dom::array tokens;
    if (root["tokens"].get(tokens)) throw BackendError("a reply without tokens");
    std::vector<std::int64_t> ids;
    for (const auto token : tokens)
      if (token.get(ids.emplace_back())) throw BackendError("a token that is no number");
    if (ids.size() > most_) ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(most_ - 1), ids.end() - 1);
    std::string input;
    JsonWriter(input).array(ids);
    return {std::move(input)};
  }

  std::size_t most_;
};

}  // namespace espalier::backend::detail
