#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/http/options.hpp>
#include <espalier/backend/http_encoder.hpp>
#include <espalier/backend/http_reranker.hpp>
#include <espalier/backend/http_retriever.hpp>
#include <espalier/backend/openai.hpp>

#include "parts.hpp"
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

using OpenAi = OwnPart<ModelPart, struct OpenAiTag>;
using HttpRetriever = OwnPart<RetrieverPart, struct HttpRetrieverTag>;
using HttpScorer = OwnPart<EncoderPart, struct HttpScorerTag>;
using HttpReranker = OwnPart<RerankerPart, struct HttpRerankerTag>;
class HttpEncoder : public OwnPart<EncoderPart, struct HttpEncoderTag> {
 public:
  using OwnPart::OwnPart;
  std::string model, profile;
};

/// The options for a new service, with the watch of its run.
template <class Options>
Options watched(Options options) {
  OneRun::Watch& watch = OneRun::now ? *OneRun::now : options.http.watch;
  if (!watch) watch = std::make_shared<backend::HttpWatch>(options.http.deadline_s, &warn);
  options.http.watch = watch;
  return options;
}

/// What the repr of a client says: whom it asks, without the secrets of the address.
std::string about(const std::string& url, const std::string& name) {
  return py::str("{}, {}").format(brief(backend::detail::Url(url).shown()), brief(name));
}

/// Opens one service now, so that bad options are reported at once and its fingerprint is known.
template <class Wrapped, class Service, class Options>
Wrapped make(Options options) {
  const auto fingerprint = Service(watched(options)).fingerprint();
  std::string name;
  if constexpr (requires { options.model; }) name = options.model;
  else name = options.name;
  return Wrapped([options] { return std::make_unique<Service>(watched(options)); }, fingerprint,
                 about(options.url, name));
}

/// Registers a constructor of a client. After its own arguments come those that every client has: `make` gets these
/// first, as options.
template <class T, class Bound, class... Own, class... Said>
void bind_client(Bound&& bound, T (*make)(const backend::HttpOptions&, Own...), const Said&... said) {
  bound.def(
      py::init([make](Own... own, std::size_t in_flight, double timeout, double deadline, int attempts, double wait) {
        return make({.max_in_flight = in_flight,
                     .timeout_s = timeout,
                     .deadline_s = deadline,
                     .max_attempts = attempts,
                     .wait_s = wait},
                    std::move(own)...);
      }),
      said..., py::arg("in_flight") = 64, py::arg("timeout") = 300.0, py::arg("deadline") = 600.0,
      py::arg("attempts") = 0, py::arg("wait") = 0.0);
}

OpenAi make_openai(const backend::HttpOptions& http, const std::string& url, const std::string& model,
                   const std::vector<std::string>& endpoints, const std::string& revision, const std::string& api,
                   const std::string& server, bool stream, const std::string& extra_body, const std::string& thinking,
                   const std::string& finish_reasons, const std::string& api_key_env, const std::string& api_key_file,
                   const std::string& session, bool in_process) {
  if (api != "chat" && api != "completions") bad_option("api", api, "chat, completions");
  const auto known = std::make_shared<std::optional<backend::Server>>(backend::detail::server_named(server));
  backend::OpenAiOptions options{.url = url,
                                 .endpoints = endpoints,
                                 .model = model,
                                 .revision = revision,
                                 .api_key_env = api_key_env,
                                 .api_key_file = api_key_file,
                                 .chat = api == "chat",
                                 .on_server = [known](backend::Server found) { *known = found; },
                                 .stream = stream,
                                 .extra_body = extra_body,
                                 .thinking = thinking,
                                 .finish_reasons = finish_reasons,
                                 .session = session,
                                 .in_process = in_process,
                                 .http = http};
  const auto fingerprint = backend::OpenAi(watched(options)).fingerprint();
  return OpenAi(
      [options, known]() mutable {
        options.server = *known;  // asked in the first run that needs to know
        return std::make_unique<backend::OpenAi>(watched(options));
      },
      fingerprint, about(url, model));
}

HttpRetriever make_retriever(const backend::HttpOptions& http, const std::string& url, const std::string& name,
                             const std::string& api, std::uint32_t rerank_depth, std::size_t batch) {
  return make<HttpRetriever, backend::HttpRetriever>(
      backend::HttpRetrieverOptions{url, name, backend::detail::retrieval_api(api), rerank_depth, batch, http});
}

HttpEncoder make_client(const backend::HttpOptions& http, const std::string& url, const std::string& model,
                        const std::string& profile, const std::optional<std::string>& query_prefix,
                        const std::optional<std::string>& passage_prefix, std::optional<bool> normalise,
                        std::optional<std::size_t> max_tokens, bool llamacpp, const std::string& api_key_env,
                        std::size_t batch) {
  backend::EncoderProfile chosen = backend::EncoderProfile::named(profile);
  chosen.query_prefix = query_prefix.value_or(chosen.query_prefix);
  chosen.passage_prefix = passage_prefix.value_or(chosen.passage_prefix);
  chosen.normalise = normalise.value_or(chosen.normalise);
  chosen.max_tokens = max_tokens.value_or(chosen.max_tokens);
  auto made = make<HttpEncoder, backend::HttpEncoder>(backend::HttpEncoderOptions{.url = url,
                                                                                  .model = model,
                                                                                  .api_key_env = api_key_env,
                                                                                  .profile = chosen,
                                                                                  .llamacpp = llamacpp,
                                                                                  .batch = batch,
                                                                                  .http = http});
  made.model = model;
  made.profile = chosen.name;
  return made;
}

HttpScorer make_scorer(const backend::HttpOptions& http, const std::string& url, const std::string& model,
                       const std::string& revision, const std::string& task, std::size_t batch) {
  if (!backend::detail::is_scorer(url))
    bad_option("url", backend::detail::Url(url).shown(), "an address that ends in /classify or /pooling");
  return make<HttpScorer, backend::HttpEncoder>(backend::HttpEncoderOptions{
      .url = url, .model = model, .revision = revision, .task = task, .batch = batch, .http = http});
}

HttpReranker make_reranker(const backend::HttpOptions& http, const std::string& url, const std::string& model,
                           const std::string& revision, const std::string& api_key_env,
                           const std::string& api_key_file) {
  return make<HttpReranker, backend::HttpReranker>(
      backend::HttpRerankerOptions{url, model, revision, api_key_env, api_key_file, http});
}

}  // namespace

void bind_http(py::module_& m) {
  bind_client(
      part_class<OpenAi>(m, "OpenAi", "A language model behind a server that speaks OpenAI's protocol."), &make_openai,
      py::arg("url"), py::arg("model"), py::kw_only(), py::arg("endpoints") = py::list(), py::arg("revision") = "",
      py::arg("api") = "chat", py::arg("server") = "auto", py::arg("stream") = false, py::arg("extra_body") = "",
      py::arg("thinking") = "", py::arg("finish_reasons") = "", py::arg("api_key_env") = "OPENAI_API_KEY",
      py::arg("api_key_file") = "", py::arg("session") = "", py::arg("in_process") = false,
      "`endpoints`: further servers with the model, as URL or URL*WEIGHT. `server` is their sort: vllm, sglang, "
      "llamacpp, ollama, openai, other, or auto: the first is asked. `deadline` is in seconds, over all attempts of a "
      "request; after a twentieth of it without a reply the logger 'espalier' warns. `wait`: seconds for a server that "
      "is starting. `in_process`: llama.cpp in this process; a prompt longer than its context gets a completion that "
      "says so. `thinking`: on, off, or the most tokens of a thought. `finish_reasons`: endings of this server's "
      "answers besides the usual ones, as NAME,NAME. `session`: a header NAME:TEMPLATE or a field NAME=TEMPLATE for "
      "routers, {question} becomes a hash.");

  bind_client(part_class<HttpRetriever>(m, "HttpRetriever", "A retriever behind a server."), &make_retriever,
              py::arg("url"), py::arg("name") = "default", py::kw_only(), py::arg("api") = "search-r1",
              py::arg("rerank_depth") = 100, py::arg("batch") = 16,
              "`name` says what is searched, corpus and index; it is part of the journal's key.");

  auto encoder = part_class<HttpEncoder>(m, "HttpEncoder",
                                         "An encoder behind a server with OpenAI's /embeddings, or with /classify or "
                                         "/pooling at an address that ends so.");
  encoder.def_readonly("model", &HttpEncoder::model)
      .def_readonly("profile", &HttpEncoder::profile, "The profile's name.");
  bind_client(encoder, &make_client, py::arg("url"), py::arg("model"), py::kw_only(), py::arg("profile") = "none",
              py::arg("query_prefix") = py::none(), py::arg("passage_prefix") = py::none(),
              py::arg("normalise") = py::none(), py::arg("max_tokens") = py::none(), py::arg("llamacpp") = false,
              py::arg("api_key_env") = "OPENAI_API_KEY", py::arg("batch") = 64,
              "`profile` says what the model was trained with; what else is given goes before it. Texts are cut to "
              "`max_tokens`: by the server, or with `llamacpp` by its /tokenize. The key is read from the environment "
              "variable.");

  bind_client(
      part_class<HttpScorer>(m, "HttpScorer",
                             "A reward or value model behind /classify or /pooling: one row of numbers per text."),
      &make_scorer, py::arg("url"), py::arg("model"), py::kw_only(), py::arg("revision") = "", py::arg("task") = "",
      py::arg("batch") = 64, "`task` is /pooling's: 'embed', 'token_classify' ...");
  bind_client(part_class<HttpReranker>(m, "HttpReranker", "A cross-encoder behind /rerank."), &make_reranker,
              py::arg("url"), py::arg("model"), py::kw_only(), py::arg("revision") = "",
              py::arg("api_key_env") = "OPENAI_API_KEY", py::arg("api_key_file") = "");
}

}  // namespace espalier::python

#endif
