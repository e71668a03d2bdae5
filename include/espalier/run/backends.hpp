#pragma once

#include <espalier/backend/http/fleet.hpp>
#include <espalier/core/batch_service.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/sim/model.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/http_encoder.hpp>
#include <espalier/backend/openai.hpp>
#include <espalier/backend/scoring_model.hpp>
#include <espalier/run/batch.hpp>
#include <espalier/run/detail/known_servers.hpp>
#endif

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// A backend with everything that a run must know about it.
template <class In, class Out>
struct Backend {
  std::unique_ptr<Service<In, Out>> service;
  std::optional<Hash> fingerprint;      ///< without it, answers are not journaled beyond the process
  std::string label;                    ///< its name in results
  bool remote;                          ///< its answers are worth journaling
  const Accounts* transport = nullptr;  ///< counts of the service itself, valid as long as it lives, null = none
  const Accounts* journal = nullptr;    ///< those of the journal before it, null = none
  std::shared_ptr<const backend::detail::HttpFleet> fleet = nullptr;  ///< its servers, null = none
};

namespace detail {

using ModelBackend = Backend<Prompt, Completion>;
using RetrieverBackend = Backend<Query, Passages>;
using EncoderBackend = Backend<EncodeRequest, Embedding>;

/// Opens a given backend, if it is no replay. Throws std::invalid_argument for a replay of one without a fingerprint.
template <class In, class Out>
Backend<In, Out> open_given(const Given<In, Out>& given, const std::string& label, bool replay) {
  if (!replay) return given.open();
  if (!given.fingerprint) throw std::invalid_argument("a replay of a function needs its fingerprint");
  return {nullptr, given.fingerprint, label, true};
}

inline bool is_url(const std::string& text) { return text.starts_with("http://") || text.starts_with("https://"); }

/// True for the address of a server that answers with texts.
inline bool is_model_server(const std::string& url) { return is_url(url) && !backend::detail::is_scorer(url); }

#ifdef ESPALIER_HAS_CURL

/// The client of a server that answers with numbers. `label` stands in results.
inline EncoderBackend make_client(backend::HttpEncoderOptions options, const std::string& label,
                                  const Settings& settings) {
  options.api_key_file = settings.servers.api_key_file;
  options.http = http_options(settings);
  auto service = std::make_unique<backend::HttpEncoder>(std::move(options));
  const Hash fingerprint = service->fingerprint();
  return {std::move(service), fingerprint, label, true};
}

#endif

/// A language model: the simulated one, which knows the examples' chains, one at a server, or one asked by batch files.
inline ModelBackend make_model(const Settings::ModelFor& model, const Settings& settings,
                               const std::vector<rag::Example>& examples, const sim::Skills& skills) {
  const std::string& source = model.model;
  const char* named = model.purpose.empty() ? "model-name" : "model-for";
  const std::vector<std::string> endpoints = settings.endpoints_for(model.purpose);
  if (!is_url(source) && !endpoints.empty())
    bad_option("endpoint", backend::detail::shown_address(endpoints.front()), "none beside a model without a URL");
  if (const auto given = settings.given.models.find(source); given != settings.given.models.end())
    return open_given(given->second, model.name, settings.journal.replay);
  if (source == "simulated") {
    if (!model.name.empty()) bad_option(named, model.name, "none beside the simulated model: is --model missing?");
    sim::Model simulated(examples, skills);
    const Hash fingerprint = simulated.fingerprint();
    return {std::make_unique<BatchService<Prompt, Completion, sim::Model>>(std::move(simulated)), fingerprint, source,
            true};
  }
  const bool later = source == "batch" && !settings.journal.batch_file.empty();
  if (!is_url(source) && !later)
    bad_option("model", backend::detail::shown_address(source),
               "simulated, gguf:FILE, hf:FOLDER, or a server's: --model http://HOST/v1 --model-name NAME");
  if (model.name.empty())
    bad_option(named, "empty",
               "the name of a model of " + backend::detail::shown_address(source) + ", whose /models lists them");
#ifdef ESPALIER_HAS_CURL
  if (backend::detail::is_scorer(source)) {
    if (!endpoints.empty())
      bad_option("endpoint", backend::detail::shown_address(endpoints.front()), "none beside /classify and /pooling");
    EncoderBackend scorer = make_client({.url = source, .model = model.name}, model.name, settings);
    return {std::make_unique<backend::ScoringModel>(std::move(scorer.service)), scorer.fingerprint, model.name, true};
  }
  backend::OpenAiOptions options;
  if (!later) options.url = source;
  options.model = model.name;
  options.revision = settings.model.revision;
  options.chat = settings.model.api == "chat";
  options.server = later ? named_server(source, settings) : known_server(source, settings);
  if (!options.server && !later)
    options.on_server = [file = servers_file(settings), address = backend::detail::Url(source).shown()](
                            backend::Server server) { keep_server(file, address, server); };
  options.stream = settings.servers.stream;
  options.extra_body = settings.model.extra_body;
  options.thinking = settings.model.thinking;
  options.finish_reasons = settings.model.finish_reasons;
  options.api_key_file = settings.servers.api_key_file;
  options.session = settings.servers.session;
  options.http = http_options(settings);
  options.endpoints = endpoints;
  if (later && options.server == backend::Server::ollama)
    bad_option("server", settings.servers.kind, "one with a batch API");
  if (later && settings.journal.keep_tokens && !options.server && source == settings.model.url)
    bad_option("server", settings.servers.kind, "the sort that takes the batch, such as vllm, beside --keep-tokens");
  const auto& dialect = backend::detail::dialect_of(options.server.value_or(backend::Server::other));
  auto service = std::make_unique<backend::OpenAi>(std::move(options));
  const Hash fingerprint = service->fingerprint();
  if (later) {
    BatchRequests requests(backend::detail::OpenAiRequest(model.name, settings.model.api == "chat",
                                                          settings.model.extra_body, false, settings.model.thinking),
                           dialect, fingerprint, settings.journal.batch_file);
    return {std::make_unique<BatchService<Prompt, Completion, BatchRequests>>(std::move(requests)), fingerprint,
            model.name, true};
  }
  return {std::move(service), fingerprint, model.name, true};
#else
  throw MissingPart("the client for language model servers", "libcurl4-openssl-dev and libsimdjson-dev");
#endif
}

/// The client of the settings' embeddings server.
inline EncoderBackend make_encoder(const Settings& settings) {
  const auto& [url, name, profile] = settings.encoder;
  if (settings.given.encoder) return open_given(*settings.given.encoder, name, settings.journal.replay);
  if (!is_url(url)) bad_option("encoder", backend::detail::shown_address(url), "the URL of an embeddings server");
#ifdef ESPALIER_HAS_CURL
  if (backend::detail::is_scorer(url))
    return make_client({.url = url, .model = name, .task = "embed"}, "encoder", settings);
  return make_client({.url = url, .model = name, .profile = backend::EncoderProfile::named(profile)}, name, settings);
#else
  throw MissingPart("the client for embeddings servers", "libcurl4-openssl-dev and libsimdjson-dev");
#endif
}

/// An encoder as a batch function that waits for all answers.
inline auto waiting(EncoderBackend encoder) {
  return [service = std::shared_ptr(std::move(encoder.service))](std::span<const EncodeRequest> texts) {
    return espalier::detail::ask_all(*service, texts, [] {});
  };
}

/// The client of the settings' value server. A port sees it as an encoder of two numbers.
inline EncoderBackend make_value_server(const Settings& settings) {
  const std::string &url = settings.values.source, &name = settings.values.name;
  if (settings.given.values) return open_given(*settings.given.values, name, settings.journal.replay);
  if (!is_url(url)) bad_option("values", backend::detail::shown_address(url), "the URL of a value server");
#ifdef ESPALIER_HAS_CURL
  return make_client({.url = url, .api = backend::HttpEncoderOptions::Api::values, .model = name}, name, settings);
#else
  throw MissingPart("the client for value servers", "libcurl4-openssl-dev and libsimdjson-dev");
#endif
}

}  // namespace detail

}  // namespace espalier::run
