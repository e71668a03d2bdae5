#pragma once

#include <espalier/backend/detail/http/json_reader.hpp>
#include <espalier/backend/detail/http/service.hpp>
#include <espalier/backend/encoder_profile.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/passage.hpp>
#include <espalier/core/service.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
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

/// An encoder behind a server with OpenAI's /embeddings.
struct HttpEncoderOptions {
  std::string url = "http://127.0.0.1:8000/v1";  ///< the part before /embeddings
  std::string model = {};                        ///< the model's name at the server, not empty
  std::string revision = {};                     ///< of the model's weights, for the fingerprint, "" = none
  std::string api_key_env = "OPENAI_API_KEY";    ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                 ///< file with the key, takes precedence over api_key_env
  EncoderProfile profile = {};
  /// The server is llama.cpp, which cuts no text. So the client cuts: /tokenize gives the token ids, and ids are sent.
  /// Other servers are told where to cut, by truncate_prompt_tokens.
  bool llamacpp = false;
  std::size_t batch = 64;  ///< largest number of texts in one message, >= 1
  HttpOptions http = {};
};

namespace detail {

/// Asks llama.cpp's /tokenize for the tokens of a text, including special ones, and cuts them. Its results are inputs
/// of HttpEmbeddings.
class HttpTokenizer final : public HttpService<std::string, std::string> {
 public:
  HttpTokenizer(std::shared_ptr<const HttpEndpoint> endpoint, std::size_t most, std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), endpoint->options().max_in_flight),
        endpoint_(std::move(endpoint)),
        most_(most) {}

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

  std::shared_ptr<const HttpEndpoint> endpoint_;
  std::size_t most_;
  JsonReader json_;
};

/// A client of OpenAI's /embeddings. An input is JSON: a text or a list of token ids.
class HttpEmbeddings final : public HttpService<std::string, Embedding> {
 public:
  HttpEmbeddings(std::shared_ptr<const HttpEndpoint> endpoint, const HttpEncoderOptions& options,
                 std::shared_ptr<HttpClient> client)
      : HttpService(std::move(client), options.http.max_in_flight, options.batch),
        endpoint_(std::move(endpoint)),
        model_(options.model),
        truncate_(options.llamacpp ? 0 : options.profile.max_tokens) {}

 private:
  std::shared_ptr<const HttpEndpoint> write(std::span<const std::string> group, std::string& body) override {
    JsonWriter json(body);
    json.begin_object().field("model", model_).key("input").begin_array();
    for (const std::string& input : group) json.raw(input);
    json.end_array().field("encoding_format", "float");
    if (truncate_) json.field("truncate_prompt_tokens", truncate_);
    json.end_object();
    return endpoint_;
  }
  std::vector<std::optional<Embedding>> read(std::span<const std::string> group, std::string& body) override {
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
      if (dimension_ == 0) dimension_ = embedding.size();
      if (embedding.size() != dimension_)
        throw BackendError("an embedding of dimension " + std::to_string(embedding.size()) + " instead of " +
                           std::to_string(dimension_));
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
  std::string model_;
  std::size_t truncate_;       ///< tells the server to cut texts to this many tokens, 0 = no
  std::size_t dimension_ = 0;  ///< of the first embedding
  JsonReader json_;
};

/// Scales to length 1, with a sum in order and in double. Zero stays zero.
inline void normalise(Embedding& embedding) {
  double sum = 0;
  for (const float x : embedding) sum += double(x) * double(x);
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& x : embedding) x = static_cast<float>(double(x) * scale);
}

}  // namespace detail

/// The encoder as an asynchronous service. Throws std::invalid_argument for bad options.
class HttpEncoder final : public Service<EncodeRequest, Embedding> {
 public:
  /// A `client` may be shared with other services. null = a new one.
  explicit HttpEncoder(HttpEncoderOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : options_(std::move(options)),
        client_(client ? std::move(client) : std::make_shared<HttpClient>()),
        embeddings_(endpoint(detail::Url(options_.url).below("/embeddings")), options_, client_),
        tokenizer_(endpoint(detail::Url(options_.url).with_path("/tokenize")), options_.profile.max_tokens, client_) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    if (const std::size_t most = options_.profile.max_tokens; most == 1 || most == 2)
      bad_option("max_tokens", most, "0 (no cut) or 3 or more, as two tokens are special");
  }

  void submit(Ticket ticket, const EncodeRequest& request) override {
    std::string text = detail::prefixed(request, options_.profile);
    // A token has at least one byte, so a text of few bytes needs no cut. Two tokens are special.
    const std::size_t most = options_.llamacpp ? options_.profile.max_tokens : 0;
    if (most > 0 && text.size() > most - 2) return tokenizer_.submit(ticket, text);
    std::string input;
    JsonWriter(input).value(text);
    embeddings_.submit(ticket, input);
  }
  std::vector<Reply<Embedding>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Embedding>> replies;
    for (auto& reply : tokenizer_.poll(std::chrono::milliseconds(0))) {
      if (reply.outcome.ok()) embeddings_.submit(reply.ticket, reply.outcome.value());
      else replies.emplace_back(reply.ticket, reply.outcome.error());
    }
    for (auto& reply : embeddings_.poll(replies.empty() ? wait : std::chrono::milliseconds(0))) {
      if (reply.outcome.ok() && options_.profile.normalise) {
        Embedding embedding = std::move(reply.outcome).value();
        detail::normalise(embedding);
        reply.outcome = std::move(embedding);
      }
      replies.push_back(std::move(reply));
    }
    return replies;
  }
  [[nodiscard]] bool batch() const override { return false; }
  void cancel(Ticket ticket) override {
    tokenizer_.cancel(ticket);
    embeddings_.cancel(ticket);
  }

  /// Accounts of the requests for embeddings.
  [[nodiscard]] const Accounts& accounts() const { return embeddings_.accounts(); }
  /// Identity of the model and of the processing of texts and embeddings. It contains no address and no key.
  [[nodiscard]] Hash fingerprint() const {
    const EncoderProfile& profile = options_.profile;
    Hasher hasher;
    hasher.add(std::string_view("http encoder"))
        .add(options_.model)
        .add(options_.revision)
        .add(profile.query_prefix)
        .add(profile.passage_prefix);
    hasher.add(std::uint64_t(profile.normalise));
    if (profile.pooling != EncoderProfile::Pooling::unknown)
      hasher.add(std::string_view("pooling")).add(std::uint64_t(profile.pooling));
    if (const EncoderProfile* card = EncoderProfile::find(profile.name);
        !card || card->max_tokens != profile.max_tokens)
      hasher.add(std::string_view("cut")).add(std::uint64_t(profile.max_tokens));
    return hasher.finish();
  }

 private:
  [[nodiscard]] std::shared_ptr<const detail::HttpEndpoint> endpoint(const detail::Url& url) const {
    return std::make_shared<const detail::HttpEndpoint>(
        url, detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }

  HttpEncoderOptions options_;
  std::shared_ptr<HttpClient> client_;
  detail::HttpEmbeddings embeddings_;
  detail::HttpTokenizer tokenizer_;
};

}  // namespace espalier::backend
