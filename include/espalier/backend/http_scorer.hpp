#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/passage.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A model that returns numbers for texts.
struct HttpScorerOptions {
  enum class Api : std::uint8_t {
    classify,  ///< a reward or value model behind /classify (vLLM, SGLang)
    pooling,   ///< hidden states or token scores behind /pooling (vLLM)
    values     ///< a server of plan and search values, such as `espalier serve values`. Without a path /value is added
  };
  std::string url = "http://127.0.0.1:8000/classify";
  std::optional<Api> api = {};                 ///< nothing = classify or pooling, as the path ends
  std::string model = {};                      ///< the model's name at the server, not empty
  std::string revision = {};                   ///< of the model's weights, for the fingerprint, "" = none
  std::string task = {};                       ///< of /pooling: "embed", "classify" ..., "" = default
  std::string api_key_env = "OPENAI_API_KEY";  ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};               ///< file with the key, takes precedence over api_key_env
  std::size_t batch = 64;                      ///< largest number of texts in one message, >= 1
  HttpOptions http = {};
};

/// Raw numbers without an activation, one vector per text. If the server gives numbers per token, the last token counts
/// (a step model scores the last step tag). Of a value server the vector is its plan and its search value, each in
/// [-1, 1]. It can be used wherever an encoder's port is expected. Throws std::invalid_argument for bad options.
class HttpScorer final : public detail::HttpService<EncodeRequest, Embedding> {
 public:
  explicit HttpScorer(HttpScorerOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : HttpService(std::move(client), options.http.max_in_flight, options.batch), options_(std::move(options)) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    const detail::Url url(options_.url);
    std::string path = url.path();
    if (options_.api == Api::values && path.size() <= 1) path = "/value";
    api_ = options_.api.value_or(path.ends_with("/pooling") ? Api::pooling : Api::classify);
    if (!options_.api && api_ == Api::classify && !path.ends_with("/classify"))
      bad_option("url", url.shown(), "an address that ends in /classify or /pooling");
    if (api_ != Api::pooling && !options_.task.empty()) bad_option("task", options_.task, "'' without /pooling");
    endpoint_ = std::make_shared<const detail::HttpEndpoint>(
        url.with_path(path), detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }
  [[nodiscard]] Hash fingerprint() const {
    Hasher hasher;
    if (api_ == Api::values) return hasher.add(std::string_view("http values")).add(options_.model).finish();
    hasher.add(std::string_view("http scorer")).add(options_.model).add(options_.revision).add(options_.task);
    return hasher.add(std::uint64_t(api_ == Api::pooling)).finish();
  }

 private:
  using Api = HttpScorerOptions::Api;

  /// vLLM reads `input`, SGLang's /classify reads `text`. Each ignores the other. A value server reads `texts` alone.
  std::shared_ptr<const detail::HttpEndpoint> write(std::span<const EncodeRequest> group, std::string& body) override {
    std::vector<std::string_view> texts;
    for (const EncodeRequest& request : group) texts.emplace_back(request.text);
    JsonWriter json(body);
    json.begin_object();
    if (api_ == Api::values) {
      json.key("texts").array(texts).end_object();
      return endpoint_;
    }
    json.field("model", options_.model).key("input").array(texts);
    if (api_ == Api::classify) json.key("text").array(texts);
    if (!options_.task.empty()) json.field("task", options_.task);
    json.field("use_activation", false).end_object();
    return endpoint_;
  }
  /// {"data": [{"index", "probs" or "data"}]}, or SGLang's [{"embedding"}] in order.
  std::vector<std::optional<Embedding>> read(std::span<const EncodeRequest> group, std::string& body) override {
    const simdjson::dom::element root = json_.read(body);
    detail::throw_if_error(root);
    if (api_ == Api::values) return read_values(root, group.size());
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
      if (item[bare ? "embedding" : api_ == Api::pooling ? "data" : "probs"].get(numbers))
        throw BackendError("an item without scores");
      scores[*index] = detail::read_embedding(last_row(numbers));
    }
    return scores;
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

  HttpScorerOptions options_;
  Api api_ = Api::classify;
  detail::JsonReader json_;
  std::shared_ptr<const detail::HttpEndpoint> endpoint_;
};

}  // namespace espalier::backend
