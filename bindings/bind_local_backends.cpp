#include <espalier/backend/bm25.hpp>
#include <espalier/backend/hybrid.hpp>
#include <espalier/backend/rerank.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "parts.hpp"

namespace espalier::python {

using backend::RerankRequest;

namespace {

using Simulated = OwnPart<ModelPart, struct SimulatedTag>;
using Bm25 = OwnPart<RetrieverPart, struct Bm25Tag>;
using Hybrid = OwnPart<RetrieverPart, struct HybridTag>;
using Reranked = OwnPart<RetrieverPart, struct RerankedTag>;

template <class In, class Out>
void bind_part(py::module_& m, const char* name, const char* doc) {
  py::class_<Part<In, Out>, std::shared_ptr<Part<In, Out>>>(m, name, doc)
      .def("__call__", &Part<In, Out>::operator(), py::arg("requests"),
           "Answers a list of requests; raises the first error.")
      .def("__repr__", [](const py::object& self) {
        return py::str("{}({})").format(type_name(self), self.cast<const Part<In, Out>&>().about);
      });
}

Simulated make_simulated(const std::vector<rag::Example>& questions, const sim::Skills& skills) {
  sim::Model model(questions, skills);
  const Hash fingerprint = model.fingerprint();
  return Simulated(opens<Prompt, Completion>(std::move(model)), fingerprint,
                   fmt::format("{} questions", questions.size()));
}

/// A backend inside one of our services. Other Python threads can run beside that service.
template <class In, class Out>
std::unique_ptr<Service<In, Out>> open_inner(const py::object& part, const std::string& role) {
  return std::make_unique<Guarded<In, Out, py::gil_scoped_acquire>>(open_backend<In, Out>(part, role));
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
  return Hybrid(open, known ? std::optional(hasher.finish()) : std::nullopt, brief(py::cast(retrievers)));
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
  std::optional<Hash> identity;
  if (first && second)
    identity = Hasher().add(std::string_view("reranked")).add(*first).add(*second).add(std::uint64_t(depth)).finish();
  return Reranked(open, identity, py::str("{}, {}").format(brief(retriever), brief(reranker)));
}

}  // namespace

void bind_local_backends(py::module_& m) {
  bind_part<Prompt, Completion>(m, "Model", "A language model of Espalier's own.");
  bind_part<Query, Passages>(m, "Retriever", "A retriever of Espalier's own.");
  bind_part<EncodeRequest, Embedding>(m, "Encoder", "An encoder of Espalier's own.");
  bind_part<RerankRequest, RerankRequest::Scores>(m, "Reranker", "A reranker of Espalier's own.");

  const sim::Skills skills;
  part_class<Simulated>(m, "Simulated", "A simulated language model with known skills: call its results simulated.")
      .def(py::init([](const std::vector<rag::Example>& questions, double recall, double decompose, double phrase,
                       double read, double stop, double hallucinate, double malformed, double judge,
                       std::uint64_t seed) {
             return make_simulated(
                 questions, sim::Skills{recall, decompose, phrase, read, stop, hallucinate, malformed, seed, judge});
           }),
           py::arg("questions"), py::kw_only(), py::arg("recall") = skills.recall,
           py::arg("decompose") = skills.decompose, py::arg("phrase") = skills.phrase, py::arg("read") = skills.read,
           py::arg("stop") = skills.stop, py::arg("hallucinate") = skills.hallucinate,
           py::arg("malformed") = skills.malformed, py::arg("judge") = skills.judge, py::arg("seed") = skills.seed,
           "It knows the chains of these questions; each skill is a rate from 0 to 1.");

  const backend::Bm25Options bm25;
  part_class<Bm25>(m, "Bm25", "BM25 over an index in memory, scored as Lucene does.")
      .def(py::init(
               [](std::vector<Passage> passages, double k1, double b, const std::string& analyzer, unsigned threads) {
                 const backend::Bm25Options options{
                     .k1 = k1, .b = b, .analyzer = backend::Analyzer::named(analyzer), .threads = threads};
                 std::string about = fmt::format("{} passages", passages.size());
                 const py::gil_scoped_release unlock;
                 return Bm25(opens<Query, Passages>(backend::Bm25(std::move(passages), options)), std::nullopt, about);
               }),
           py::arg("passages"), py::kw_only(), py::arg("k1") = bm25.k1, py::arg("b") = bm25.b,
           py::arg("analyzer") = bm25.analyzer.name(), py::arg("threads") = bm25.threads,
           "Analyzers: 'simple' and 'english-lucene'. No number of threads changes an answer; 0: as many as the "
           "machine runs at once.");

  const backend::HybridOptions hybrid;
  part_class<Hybrid>(m, "Hybrid", "Reciprocal-rank fusion of what several retrievers find.")
      .def(py::init(&make_hybrid), py::arg("retrievers"), py::kw_only(), py::arg("depth") = hybrid.depth,
           py::arg("constant") = hybrid.constant, "`depth` passages are asked of each; `constant` is added to ranks.");
  part_class<Reranked>(m, "Reranked", "A retriever whose best passages a reranker puts in a new order.")
      .def(py::init(&make_reranked), py::arg("retriever"), py::arg("reranker"), py::kw_only(), py::arg("depth") = 50,
           "The best `depth` are reranked, the best of them returned.");

  py::class_<sim::World>(
      m, "World",
      "A generated knowledge graph with passages and multi-hop questions; the same options give the same world.")
      .def(py::init([](std::size_t passages, std::size_t questions, std::uint64_t seed, unsigned max_hops) {
             return sim::World(sim::World::Options{passages, questions, seed, max_hops});
           }),
           py::arg("passages") = 2000, py::arg("questions") = 100, py::arg("seed") = 1, py::kw_only(),
           py::arg("max_hops") = 4)
      .def_property_readonly("questions", &sim::World::examples)
      .def_property_readonly("passages",
                             [](const sim::World& world) {
                               std::vector<Passage> passages;
                               passages.reserve(world.size());
                               for (std::size_t i = 0; i < world.size(); ++i) passages.push_back(world.passage(i));
                               return passages;
                             })
      .def("__repr__", [](const sim::World& w) {
        return fmt::format("World({} questions, {} passages)", w.examples().size(), w.size());
      });
}

}  // namespace espalier::python
