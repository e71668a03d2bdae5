#pragma once

#include <espalier/backend/detail/http/vectors.hpp>
#include <espalier/backend/http/client.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/core/service.hpp>
#include <espalier/llm/passage.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// How a family of encoders was trained. The client adds prefixes, normalises and cuts. The server does the pooling. It
/// is listed here because it belongs to the fingerprint and to the instructions for starting a server.
struct EncoderProfile {
  enum class Pooling : std::uint8_t { unknown, mean, cls, last };
  std::string name = "none";
  std::string query_prefix = {};    ///< put before queries
  std::string passage_prefix = {};  ///< put before passages
  Pooling pooling = Pooling::unknown;
  bool normalise = false;      ///< scale embeddings to length 1
  std::size_t max_tokens = 0;  ///< tokens that the model reads of a text, special tokens included, 0 = unknown

  bool operator==(const EncoderProfile&) const = default;
  /// The profile of this name, as in the model card, or null.
  static const EncoderProfile* find(std::string_view name) {
    static const std::array<EncoderProfile, 6> all = {{
        {},
        {"e5", "query: ", "passage: ", Pooling::mean, true, 512},
        {"e5-instruct", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
         "", Pooling::mean, true, 512},
        {"bge", "Represent this sentence for searching relevant passages: ", "", Pooling::cls, true, 512},
        {"gte", "", "", Pooling::mean, true, 512},
        {"minilm", "", "", Pooling::mean, true, 256},
    }};
    for (const EncoderProfile& profile : all)
      if (profile.name == name) return &profile;
    return nullptr;
  }
  /// The same. Throws std::invalid_argument for an unknown name.
  static const EncoderProfile& named(std::string_view name) {
    if (const EncoderProfile* found = find(name)) return *found;
    bad_option("profile", std::string(name), "none, e5, e5-instruct, bge, gte, minilm");
  }
  /// The text with the prefix for its role.
  [[nodiscard]] std::string prefixed(const EncodeRequest& request) const {
    return (request.role == EncodeRequest::Role::query ? query_prefix : passage_prefix) + request.text;
  }
};

/// A model behind a server that answers with numbers for texts: an encoder, or a reward or value model.
struct HttpEncoderOptions {
  using Api = detail::VectorApi;
  /// For embeddings the part before /embeddings. For values without a path /value is added.
  std::string url = "http://127.0.0.1:8000/v1";
  std::optional<Api> api = {};                 ///< nothing = classify or pooling, if the path ends so, else embeddings
  std::string model = {};                      ///< the model's name at the server, not empty
  std::string revision = {};                   ///< of the model's weights, for the fingerprint, "" = none
  std::string task = {};                       ///< of /pooling: "embed", "classify" ..., "" = default
  std::string api_key_env = "OPENAI_API_KEY";  ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};               ///< file with the key, takes precedence over api_key_env
  EncoderProfile profile = {};
  /// The server is llama.cpp, which cuts no text. So the client cuts: /tokenize gives the token ids, and ids are sent.
  /// Other servers are told where to cut, by truncate_prompt_tokens.
  bool llamacpp = false;
  std::size_t batch = 64;  ///< largest number of texts in one message, >= 1
  HttpOptions http = {};
};

/// Such a model as an asynchronous service. A value server gives plan and search value.
class HttpEncoder final : public Service<EncodeRequest, Embedding> {
 public:
  /// A `client` may be shared with other services. null = a new one. Throws std::invalid_argument for bad options.
  explicit HttpEncoder(HttpEncoderOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : options_(std::move(options)),
        client_(client ? std::move(client) : std::make_shared<HttpClient>()),
        vectors_(endpoint(address()), {api(), options_.model, options_.task, told_to_cut()}, options_.batch, client_),
        tokenizer_(endpoint(detail::Url(options_.url).with_path("/tokenize")), options_.profile.max_tokens, client_) {
    if (options_.model.empty())
      bad_option("name", "empty", "a name of the model at " + detail::shown_address(options_.url) + ": URL?name=NAME");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    if (const std::size_t most = options_.profile.max_tokens; most == 1 || most == 2)
      bad_option("max_tokens", most, "0 (no cut) or 3 or more, as two tokens are special");
    if (api() != Api::pooling && !options_.task.empty()) bad_option("task", options_.task, "'' without /pooling");
  }

  void submit(Ticket ticket, const EncodeRequest& request) override {
    std::string text = options_.profile.prefixed(request);
    // A token has at least one byte, so a text of few bytes needs no cut. Two tokens are special.
    const std::size_t most = options_.llamacpp ? options_.profile.max_tokens : 0;
    if (most > 0 && text.size() > most - 2) return tokenizer_.submit(ticket, text);
    std::string input;
    JsonWriter(input).value(text);
    vectors_.submit(ticket, input);
  }
  std::vector<Reply<Embedding>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Embedding>> replies;
    for (auto& reply : tokenizer_.poll(std::chrono::milliseconds(0))) {
      if (reply.outcome.ok()) vectors_.submit(reply.ticket, reply.outcome.value());
      else replies.emplace_back(reply.ticket, reply.outcome.error());
    }
    for (auto& reply : vectors_.poll(replies.empty() ? wait : std::chrono::milliseconds(0))) {
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
    vectors_.cancel(ticket);
  }

  /// Accounts of the requests for vectors.
  [[nodiscard]] const Accounts& accounts() const { return vectors_.accounts(); }
  /// Identity of the model and of the processing of texts and embeddings. It contains no address and no key.
  [[nodiscard]] Hash fingerprint() const {
    const EncoderProfile& profile = options_.profile;
    Hasher hasher;
    const bool embeds = api() == Api::embeddings, values = api() == Api::values;
    hasher.add(std::string_view(embeds ? "http encoder" : values ? "http values" : "http scorer")).add(options_.model);
    if (!values || !options_.revision.empty()) hasher.add(options_.revision);
    if (!embeds && !values) hasher.add(options_.task).add(std::uint64_t(api() == Api::pooling));
    if (!embeds && profile == EncoderProfile()) return hasher.finish();
    hasher.add(profile.query_prefix).add(profile.passage_prefix).add(std::uint64_t(profile.normalise));
    if (profile.pooling != EncoderProfile::Pooling::unknown)
      hasher.add(std::string_view("pooling")).add(std::uint64_t(profile.pooling));
    if (const EncoderProfile* card = EncoderProfile::find(profile.name);
        !card || card->max_tokens != profile.max_tokens)
      hasher.add(std::string_view("cut")).add(std::uint64_t(profile.max_tokens));
    return hasher.finish();
  }

 private:
  using Api = detail::VectorApi;

  [[nodiscard]] Api api() const {
    if (options_.api || !detail::is_scorer(options_.url)) return options_.api.value_or(Api::embeddings);
    return detail::Url(options_.url).path().ends_with("/pooling") ? Api::pooling : Api::classify;
  }
  [[nodiscard]] detail::Url address() const {
    const detail::Url url(options_.url);
    if (api() == Api::embeddings) return url.below("/embeddings");
    return url.with_path(api() == Api::values && url.path().size() <= 1 ? "/value" : url.path());
  }
  /// The tokens to which the server is told to cut texts, 0 = not.
  [[nodiscard]] std::size_t told_to_cut() const { return options_.llamacpp ? 0 : options_.profile.max_tokens; }
  [[nodiscard]] std::shared_ptr<const detail::HttpEndpoint> endpoint(const detail::Url& url) const {
    return std::make_shared<const detail::HttpEndpoint>(
        url, detail::read_api_key(options_.api_key_env, options_.api_key_file), options_.http);
  }

  HttpEncoderOptions options_;
  std::shared_ptr<HttpClient> client_;
  detail::HttpVectors vectors_;
  detail::HttpTokenizer tokenizer_;
};

}  // namespace espalier::backend
