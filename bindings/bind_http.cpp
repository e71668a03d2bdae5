#include "parts.hpp"
#include "watch.hpp"

#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/http_encoder.hpp>
#include <espalier/backend/http_retriever.hpp>
#include <espalier/backend/openai.hpp>
#endif

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

class OpenAi : public ModelPart {
 public:
  using ModelPart::ModelPart;
};
class HttpRetriever : public RetrieverPart {
 public:
  using RetrieverPart::RetrieverPart;
};
class HttpEncoder : public EncoderPart {
 public:
  using EncoderPart::EncoderPart;
  std::string model, profile;
};
class HttpScorer : public EncoderPart {
 public:
  using EncoderPart::EncoderPart;
};

#ifdef ESPALIER_HAS_CURL

backend::HttpOptions http_options(std::size_t in_flight, double timeout, double deadline, int attempts) {
  backend::HttpOptions http;
  http.max_in_flight = in_flight;
  http.timeout_s = timeout;
  http.deadline_s = deadline;
  http.max_attempts = attempts;
  return http;
}

/// Opens one service now, so that bad options are reported at once and its fingerprint is known.
template <class Wrapped, class Service, class Options>
Wrapped make(Options options) {
  const auto fingerprint = Service(watched(options)).fingerprint();
  return Wrapped([options] { return std::make_unique<Service>(watched(options)); }, fingerprint);
}

#endif

}  // namespace

void bind_http(py::module_& m) {
  py::class_<OpenAi, ModelPart, std::shared_ptr<OpenAi>> openai(
      m, "OpenAi", "A language model behind a server that speaks OpenAI's protocol.");
  py::class_<HttpRetriever, RetrieverPart, std::shared_ptr<HttpRetriever>> retriever(m, "HttpRetriever",
                                                                                     "A retriever behind a server.");
  py::class_<HttpEncoder, EncoderPart, std::shared_ptr<HttpEncoder>> encoder(
      m, "HttpEncoder", "An encoder behind a server with OpenAI's /embeddings.");
  py::class_<HttpScorer, EncoderPart, std::shared_ptr<HttpScorer>> scorer(
      m, "HttpScorer", "A reward or value model behind /classify or /pooling: one row of numbers per text.");
#ifdef ESPALIER_HAS_CURL
  const auto in_flight_arg = py::arg("in_flight") = 64;
  const auto timeout_arg = py::arg("timeout") = 300.0;
  const auto deadline_arg = py::arg("deadline") = 600.0;
  const auto attempts_arg = py::arg("attempts") = 0;
  openai.def(
      py::init([](std::string url, std::string model, const std::vector<std::string>& endpoints, std::string revision,
                  const std::string& api, const std::string& server, bool stream, std::string extra_body,
                  std::string thinking, std::string api_key_env, std::string api_key_file, bool in_process,
                  std::size_t in_flight, double timeout, double deadline, int attempts) -> OpenAi {
        if (api != "chat" && api != "completions") bad_option("api", api, "chat, completions");
        backend::OpenAiOptions options;
        options.url = std::move(url);
        options.model = std::move(model);
        options.endpoints = endpoints;
        options.revision = std::move(revision);
        options.chat = api == "chat";
        options.stream = stream;
        options.extra_body = std::move(extra_body);
        options.thinking = std::move(thinking);
        options.api_key_env = std::move(api_key_env);
        options.api_key_file = std::move(api_key_file);
        options.in_process = in_process;
        options.http = http_options(in_flight, timeout, deadline, attempts);
        const auto known = std::make_shared<std::optional<backend::Server>>(backend::detail::server_named(server));
        options.on_server = [known](backend::Server found) { *known = found; };
        const auto fingerprint = backend::OpenAi(watched(options)).fingerprint();
        return OpenAi(
            [options, known]() mutable {
              options.server = *known;  // asked in the first run that needs to know
              return std::make_unique<backend::OpenAi>(watched(options));
            },
            fingerprint);
      }),
      py::arg("url"), py::arg("model"), py::kw_only(), py::arg("endpoints") = std::vector<std::string>(),
      py::arg("revision") = "", py::arg("api") = "chat", py::arg("server") = "auto", py::arg("stream") = false,
      py::arg("extra_body") = "", py::arg("thinking") = "", py::arg("api_key_env") = "OPENAI_API_KEY",
      py::arg("api_key_file") = "", py::arg("in_process") = false, in_flight_arg, timeout_arg, deadline_arg,
      attempts_arg,
      "The key is read from the file or the environment variable. `endpoints`: further servers with the model, as URL "
      "or URL*WEIGHT. `server` is their sort: vllm, sglang, llamacpp, ollama, openai, other, or auto: the first is "
      "asked. "
      "`deadline` is in seconds, over all attempts of a request; after a twentieth of it without a "
      "reply the logger 'espalier' warns. `in_process`: the server is llama.cpp in this process, and a prompt that is "
      "longer than its "
      "context gets a completion that says so. `thinking`: on, off, or the most tokens of a thought.");

  retriever.def(py::init([](std::string url, std::string name, const std::string& api, std::uint32_t rerank_depth,
                            std::size_t batch, std::size_t in_flight, double timeout, double deadline,
                            int attempts) -> HttpRetriever {
                  backend::HttpRetrieverOptions options;
                  options.url = std::move(url);
                  options.name = std::move(name);
                  options.api = backend::detail::retrieval_api(api);
                  options.rerank_depth = rerank_depth;
                  options.batch = batch;
                  options.http = http_options(in_flight, timeout, deadline, attempts);
                  return make<HttpRetriever, backend::HttpRetriever>(std::move(options));
                }),
                py::arg("url"), py::arg("name") = "default", py::kw_only(), py::arg("api") = "search-r1",
                py::arg("rerank_depth") = 100, py::arg("batch") = 16, in_flight_arg, timeout_arg, deadline_arg,
                attempts_arg, "`name` says what is searched, corpus and index; it is part of the journal's key.");

  encoder.def_readonly("model", &HttpEncoder::model)
      .def_readonly("profile", &HttpEncoder::profile, "The profile's name.");
  encoder.def(py::init([](std::string url, std::string model, const std::string& profile,
                          std::optional<std::string> query_prefix, std::optional<std::string> passage_prefix,
                          std::optional<bool> normalise, std::optional<std::size_t> max_tokens, bool llamacpp,
                          std::string api_key_env, std::size_t batch, std::size_t in_flight, double timeout,
                          double deadline, int attempts) -> HttpEncoder {
                backend::HttpEncoderOptions options;
                options.url = std::move(url);
                options.model = std::move(model);
                options.profile = backend::EncoderProfile::named(profile);
                if (query_prefix) options.profile.query_prefix = *query_prefix;
                if (passage_prefix) options.profile.passage_prefix = *passage_prefix;
                if (normalise) options.profile.normalise = *normalise;
                if (max_tokens) options.profile.max_tokens = *max_tokens;
                options.llamacpp = llamacpp;
                options.api_key_env = std::move(api_key_env);
                options.batch = batch;
                options.http = http_options(in_flight, timeout, deadline, attempts);
                auto made = make<HttpEncoder, backend::HttpEncoder>(options);
                made.model = options.model;
                made.profile = options.profile.name;
                return made;
              }),
              py::arg("url"), py::arg("model"), py::kw_only(), py::arg("profile") = "none",
              py::arg("query_prefix") = py::none(), py::arg("passage_prefix") = py::none(),
              py::arg("normalise") = py::none(), py::arg("max_tokens") = py::none(), py::arg("llamacpp") = false,
              py::arg("api_key_env") = "OPENAI_API_KEY", py::arg("batch") = 64, in_flight_arg, timeout_arg,
              deadline_arg, attempts_arg,
              "`profile` says what the model was trained with; what else is given goes before it. Texts are cut to "
              "`max_tokens`: by the server, or with `llamacpp` by its /tokenize. The key is read from the environment "
              "variable.");

  scorer.def(py::init([](std::string url, std::string model, std::string revision, std::string task, std::size_t batch,
                         std::size_t in_flight, double timeout, double deadline, int attempts) -> HttpScorer {
               if (!url.ends_with("/classify") && !url.ends_with("/pooling"))
                 bad_option("url", url, "an address that ends in /classify or /pooling");
               backend::HttpEncoderOptions options;
               options.url = std::move(url);
               options.model = std::move(model);
               options.revision = std::move(revision);
               options.task = std::move(task);
               options.batch = batch;
               options.http = http_options(in_flight, timeout, deadline, attempts);
               return make<HttpScorer, backend::HttpEncoder>(std::move(options));
             }),
             py::arg("url"), py::arg("model"), py::kw_only(), py::arg("revision") = "", py::arg("task") = "",
             py::arg("batch") = 64, in_flight_arg, timeout_arg, deadline_arg, attempts_arg,
             "`task` is /pooling's: 'embed', 'token_classify' ...");
#else
  constexpr const char* packages = "libcurl4-openssl-dev and libsimdjson-dev";
  openai.def(left_out<OpenAi>("the client for language model servers", packages));
  retriever.def(left_out<HttpRetriever>("the client for retrieval servers", packages));
  encoder.def(left_out<HttpEncoder>("the client for embedding servers", packages));
  scorer.def(left_out<HttpScorer>("the client for scoring servers", packages));
#endif
}

}  // namespace espalier::python
