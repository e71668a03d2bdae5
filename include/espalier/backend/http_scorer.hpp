#pragma once

#include <espalier/backend/http/client.hpp>
#include <espalier/backend/http/detail/json_reader.hpp>
#include <espalier/backend/http/detail/read_embedding.hpp>
#include <espalier/backend/http/detail/service.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/passage.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A model that returns numbers for texts: a reward or value model behind /classify (vLLM, SGLang), or hidden states or
/// token scores behind /pooling (vLLM).
struct HttpScorerOptions {
  std::string url = "http://127.0.0.1:8000/classify";  ///< ends in /classify or /pooling
  std::string model = {};                              ///< the model's name at the server, not empty
  std::string revision = {};                           ///< of the model's weights, for the fingerprint, "" = none
  std::string task = {};                               ///< of /pooling: "embed", "classify" ..., "" = default
  std::string api_key_env = "OPENAI_API_KEY";          ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                       ///< file with the key, takes precedence over api_key_env
  std::size_t batch = 64;                              ///< largest number of texts in one message, >= 1
  HttpOptions http = {};
};

/// Raw numbers without an activation, one vector per text. If the server gives numbers per token, the last token counts
/// (a step model scores the last step tag). It can be used wherever an encoder's port is expected. Throws
/// std::invalid_argument for bad options.
class HttpScorer final : public detail::HttpService<EncodeRequest, Embedding> {
 public:
  explicit HttpScorer(HttpScorerOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight, options.batch), options_(std::move(options)) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    const detail::Url url(options_.url);
    pooling_ = url.path().ends_with("/pooling");
    if (!pooling_ && !url.path().ends_with("/classify"))
      bad_option("url", url.shown(), "an address that ends in /classify or /pooling");
    if (!pooling_ && !options_.task.empty()) bad_option("task", options_.task, "'' with /classify");
    endpoint_ = std::make_shared<const detail::HttpEndpoint>(
        url, detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    return Hasher()
        .add(std::string_view("http scorer"))
        .add(options_.model)
        .add(options_.revision)
        .add(options_.task)
        .add(std::uint64_t(pooling_))
        .finish();
  }

 private:
  /// vLLM reads `input`, SGLang's /classify reads `text`. Each ignores the other.
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const EncodeRequest> group, std::string& body) override {
    JsonWriter json(body);
    json.begin_object().field("model", options_.model);
    const auto texts = [&](const char* name) {
      json.key(name).begin_array();
      for (const EncodeRequest& request : group) json.value(request.text);
      json.end_array();
    };
    texts("input");
    if (!pooling_) texts("text");
    if (!options_.task.empty()) json.field("task", options_.task);
    json.field("use_activation", false).end_object();
    return endpoint_;
  }
  /// {"data": [{"index", "probs" or "data"}]}, or SGLang's [{"embedding"}] in order.
  std::vector<std::optional<Embedding>> read(std::span<const EncodeRequest> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    detail::throw_if_error(root);
    simdjson::dom::array items;
    const bool bare = !root.get(items);
    if ((!bare && root["data"].get(items)) || items.size() != group.size())
      throw BackendError("not one item for each text");
    std::vector<std::optional<Embedding>> scores(group.size());
    std::size_t next = 0;
    for (const auto item : items) {
      const auto index = bare ? std::optional<std::uint64_t>(next++) : detail::field<std::uint64_t>(item, "index");
      if (!index || *index >= scores.size() || scores[*index]) throw BackendError("scores under a wrong index");
      simdjson::dom::element numbers;
      if (item[bare ? "embedding" : pooling_ ? "data" : "probs"].get(numbers))
        throw BackendError("an item without scores");
      scores[*index] = detail::read_embedding(last_row(numbers));
    }
    return scores;
  }
  /// The last row of a list of lists.
  static simdjson::dom::element last_row(simdjson::dom::element numbers) {
    simdjson::dom::array rows, row;
    while (!numbers.get(rows) && rows.size() > 0 && !rows.at(rows.size() - 1).get(row))
      numbers = rows.at(rows.size() - 1).value_unsafe();
    return numbers;
  }

  HttpScorerOptions options_;
  bool pooling_ = false;
  detail::JsonReader json_;
  std::shared_ptr<const detail::HttpEndpoint> endpoint_;
};

}  // namespace espalier::backend
