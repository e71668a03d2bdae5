#include <espalier/backend/hybrid.hpp>
#include <espalier/backend/rerank.hpp>

#include "parts.hpp"
#include "watch.hpp"
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/http_reranker.hpp>
#endif

namespace espalier::python {

using backend::RerankRequest;

template <>
inline RerankRequest::Scores Callable<RerankRequest, RerankRequest::Scores>::read(const py::object& item,
                                                                                  const RerankRequest&,
                                                                                  std::size_t i) const {
  std::vector<float> numbers;
  if (!read_floats(item, numbers)) refuse_item(i, "a row of floats", type_name(item));
  return {numbers.begin(), numbers.end()};
}

namespace {

using RerankerPart = Part<RerankRequest, RerankRequest::Scores>;

/// A backend inside one of our services. Other Python threads can run beside that service.
template <class In, class Out>
std::unique_ptr<Service<In, Out>> open_inner(const py::object& part, const std::string& role) {
  return std::make_unique<Guarded<In, Out, py::gil_scoped_acquire>>(open_backend<In, Out>(part, role));
}

class Hybrid : public RetrieverPart {
 public:
  using RetrieverPart::RetrieverPart;
};
class Reranked : public RetrieverPart {
 public:
  using RetrieverPart::RetrieverPart;
};
class HttpReranker : public RerankerPart {
 public:
  using RerankerPart::RerankerPart;
};

/// The fingerprint of a part. Nothing for a function.
template <class In, class Out>
std::optional<Hash> fingerprint_of(const py::object& backend) {
  return py::isinstance<Part<In, Out>>(backend) ? backend.cast<const Part<In, Out>&>().fingerprint : std::nullopt;
}

Hybrid make_hybrid(const std::vector<py::object>& retrievers, std::uint32_t depth, double constant) {
  const auto kept = std::make_shared<const std::vector<py::object>>(retrievers);
  const RetrieverPart::Open open = [kept, depth, constant] {
    std::vector<backend::Hybrid::Part> parts;
    for (const py::object& retriever : *kept) parts.push_back(open_inner<Query, Passages>(retriever, "retriever"));
    return std::make_unique<backend::Hybrid>(std::move(parts), backend::HybridOptions{depth, constant});
  };
  open();  // reports bad options now
  Hasher hasher;
  hasher.add(std::string_view("hybrid")).add(std::uint64_t(depth)).add(constant);
  bool known = true;
  for (const py::object& retriever : retrievers) {
    const auto fingerprint = fingerprint_of<Query, Passages>(retriever);
    known = known && fingerprint;
    if (fingerprint) hasher.add(*fingerprint);
  }
  return Hybrid(open, known ? std::optional(hasher.finish()) : std::nullopt);
}

Reranked make_reranked(const py::object& retriever, const py::object& reranker, std::uint32_t depth) {
  const auto kept = std::make_shared<const std::pair<py::object, py::object>>(retriever, reranker);
  const RetrieverPart::Open open = [kept, depth] {
    return std::make_unique<backend::Reranked>(
        open_inner<Query, Passages>(kept->first, "retriever"),
        open_inner<RerankRequest, RerankRequest::Scores>(kept->second, "reranker"), depth);
  };
  open();
  const auto first = fingerprint_of<Query, Passages>(retriever);
  const auto second = fingerprint_of<RerankRequest, RerankRequest::Scores>(reranker);
  if (!first || !second) return Reranked(open);
  return Reranked(
      open, Hasher().add(std::string_view("reranked")).add(*first).add(*second).add(std::uint64_t(depth)).finish());
}

}  // namespace

void bind_ranking(py::module_& m) {
  py::class_<RerankRequest>(m, "RerankRequest", "One request to a reranker: how well does each text answer the query?")
      .def(py::init<std::string, std::vector<std::string>>(), py::arg("query"), py::arg("texts"))
      .def_readonly("query", &RerankRequest::query)
      .def_readonly("texts", &RerankRequest::texts);
  py::class_<RerankerPart, std::shared_ptr<RerankerPart>>(m, "Reranker", "A reranker of Espalier's own.")
      .def("__call__", &RerankerPart::operator(), py::arg("requests"),
           "Answers a list of requests; raises the first error.");

  const backend::HybridOptions hybrid;
  py::class_<Hybrid, RetrieverPart, std::shared_ptr<Hybrid>>(m, "Hybrid",
                                                             "Reciprocal-rank fusion of what several retrievers find.")
      .def(py::init(&make_hybrid), py::arg("retrievers"), py::kw_only(), py::arg("depth") = hybrid.depth,
           py::arg("constant") = hybrid.constant, "`depth` passages are asked of each; `constant` is added to ranks.");
  py::class_<Reranked, RetrieverPart, std::shared_ptr<Reranked>>(
      m, "Reranked", "A retriever whose best passages a reranker puts in a new order.")
      .def(py::init(&make_reranked), py::arg("retriever"), py::arg("reranker"), py::kw_only(), py::arg("depth") = 50,
           "The best `depth` are reranked, the best of them returned.");

  py::class_<HttpReranker, RerankerPart, std::shared_ptr<HttpReranker>> reranker(m, "HttpReranker",
                                                                                 "A cross-encoder behind /rerank.");
#ifdef ESPALIER_HAS_CURL
  reranker.def(
      py::init([](std::string url, std::string model, std::string revision, std::string api_key_env,
                  std::string api_key_file, std::size_t in_flight, double timeout, double deadline, int attempts) {
        backend::HttpRerankerOptions options;
        options.url = std::move(url);
        options.model = std::move(model);
        options.revision = std::move(revision);
        options.api_key_env = std::move(api_key_env);
        options.api_key_file = std::move(api_key_file);
        options.http.max_in_flight = in_flight;
        options.http.timeout_s = timeout;
        options.http.deadline_s = deadline;
        options.http.max_attempts = attempts;
        const Hash fingerprint = backend::HttpReranker(watched(options)).fingerprint();
        return HttpReranker([options] { return std::make_unique<backend::HttpReranker>(watched(options)); },
                            fingerprint);
      }),
      py::arg("url"), py::arg("model"), py::kw_only(), py::arg("revision") = "",
      py::arg("api_key_env") = "OPENAI_API_KEY", py::arg("api_key_file") = "", py::arg("in_flight") = 64,
      py::arg("timeout") = 300.0, py::arg("deadline") = 600.0, py::arg("attempts") = 0);
#else
  reranker.def(left_out<HttpReranker>("the client for rerankers", "libcurl4-openssl-dev and libsimdjson-dev"));
#endif
}

}  // namespace espalier::python
