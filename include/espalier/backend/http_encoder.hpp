#pragma once

#include <espalier/backend/encoder_profile.hpp>
#include <espalier/backend/http/detail/embeddings.hpp>
#include <espalier/backend/http/detail/tokenizer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// An encoder behind a server with OpenAI's /embeddings.
struct HttpEncoderOptions {
  /// How texts are cut to the profile's max_tokens.
  enum class Cut : std::uint8_t {
    none,     ///< no cut: the server cuts or refuses long texts
    vllm,     ///< the server cuts, by truncate_prompt_tokens
    llamacpp  ///< the client cuts: /tokenize gives the token ids, and ids are sent
  };
  std::string url = "http://127.0.0.1:8000/v1";  ///< the part before /embeddings
  std::string model = {};                        ///< the model's name at the server, not empty
  std::string revision = {};                     ///< of the model's weights, for the fingerprint, "" = none
  std::string api_key_env = "OPENAI_API_KEY";    ///< environment variable with the key. Unset or "" = no key
  std::string api_key_file = {};                 ///< file with the key, takes precedence over api_key_env
  EncoderProfile profile = {};
  Cut cut = Cut::none;        ///< needs the profile's max_tokens
  bool base64 = false;        ///< ask for base64 instead of decimal numbers (replies may have either)
  std::size_t dimension = 0;  ///< of every embedding, 0 = that of the first one
  std::size_t batch = 64;     ///< largest number of texts in one message, >= 1
  HttpOptions http = {};
};

namespace detail {

/// Throws std::invalid_argument for an unknown name.
inline HttpEncoderOptions::Cut encoder_cut(const std::string& name) {
  if (name == "none") return HttpEncoderOptions::Cut::none;
  if (name == "vllm") return HttpEncoderOptions::Cut::vllm;
  if (name == "llamacpp") return HttpEncoderOptions::Cut::llamacpp;
  bad_option("cut", name, "none, vllm, llamacpp");
}

}  // namespace detail

/// The encoder as an asynchronous service. Throws std::invalid_argument for bad options.
class HttpEncoder final : public Service<EncodeRequest, Embedding> {
 public:
  using Cut = HttpEncoderOptions::Cut;

  /// A `client` may be shared with other services. null = a new one.
  explicit HttpEncoder(HttpEncoderOptions options, std::shared_ptr<HttpClient> client = nullptr)
      : options_(std::move(options)),
        client_(client ? std::move(client) : std::make_shared<HttpClient>()),
        embeddings_(endpoint("/embeddings"), wanted(options_), client_),
        tokenizer_(std::make_shared<const detail::HttpEndpoint>(detail::Url(options_.url).with_path("/tokenize"), key(),
                                                                options_.http),
                   client_) {
    if (options_.model.empty()) bad_option("model", options_.model, "the model's name, not empty");
    if (options_.batch < 1) bad_option("batch", options_.batch, ">= 1");
    if (options_.cut != Cut::none && options_.profile.max_tokens < 3)
      bad_option("max_tokens", options_.profile.max_tokens, "3 or more, as texts are cut to it");
  }

  void submit(Ticket ticket, const EncodeRequest& request) override {
    std::string text = detail::prefixed(request, options_.profile);
    // A token has at least one byte, so a text of few bytes needs no cut. Two tokens are special.
    if (options_.cut == Cut::llamacpp && text.size() > options_.profile.max_tokens - 2) tokenizer_.submit(ticket, text);
    else embeddings_.submit(ticket, detail::EmbeddingInput(std::move(text)));
  }
  std::vector<Reply<Embedding>> poll(std::chrono::milliseconds wait) override {
    std::vector<Reply<Embedding>> replies;
    for (auto& reply : tokenizer_.poll(std::chrono::milliseconds(0))) {
      if (reply.outcome.ok())
        embeddings_.submit(reply.ticket, detail::EmbeddingInput(cut(std::move(reply.outcome).value())));
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
    if (options_.cut != Cut::none) hasher.add(std::string_view("cut")).add(std::uint64_t(profile.max_tokens));
    return hasher.finish();
  }

 private:
  [[nodiscard]] std::string key() const { return detail::read_api_key(options_.api_key_env, options_.api_key_file); }
  [[nodiscard]] std::shared_ptr<const detail::HttpEndpoint> endpoint(const char* tail) const {
    return std::make_shared<const detail::HttpEndpoint>(detail::Url(options_.url).below(tail), key(), options_.http);
  }
  static detail::EmbeddingsOptions wanted(const HttpEncoderOptions& options) {
    return {options.model, options.cut == Cut::vllm ? options.profile.max_tokens : 0, options.base64, options.dimension,
            options.batch};
  }
  /// The first tokens and the last one, which is the separator.
  [[nodiscard]] detail::TokenIds cut(detail::TokenIds ids) const {
    const std::size_t most = options_.profile.max_tokens;
    if (ids.size() > most) ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(most - 1), ids.end() - 1);
    return ids;
  }

  HttpEncoderOptions options_;
  std::shared_ptr<HttpClient> client_;
  detail::HttpEmbeddings embeddings_;
  detail::HttpTokenizer tokenizer_;
};

}  // namespace espalier::backend
