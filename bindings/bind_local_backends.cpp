#include <espalier/backend/bm25.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>

#include "parts.hpp"

namespace espalier::python {

namespace {

class Simulated : public ModelPart {
 public:
  using ModelPart::ModelPart;
};
class Bm25 : public RetrieverPart {
 public:
  using RetrieverPart::RetrieverPart;
};

template <class In, class Out>
void bind_part(py::module_& m, const char* name, const char* doc) {
  py::class_<Part<In, Out>, std::shared_ptr<Part<In, Out>>>(m, name, doc)
      .def("__call__", &Part<In, Out>::operator(), py::arg("requests"),
           "Answers a list of requests; raises the first error.");
}

Simulated make_simulated(const std::vector<rag::Example>& questions, const sim::Skills& skills) {
  sim::Model model(questions, skills);
  const Hash fingerprint = model.fingerprint();
  return Simulated(opens<Prompt, Completion>(std::move(model)), fingerprint);
}

}  // namespace

void bind_local_backends(py::module_& m) {
  bind_part<Prompt, Completion>(m, "Model", "A language model of Espalier's own.");
  bind_part<Query, Passages>(m, "Retriever", "A retriever of Espalier's own.");
  bind_part<EncodeRequest, Embedding>(m, "Encoder", "An encoder of Espalier's own.");

  const sim::Skills skills;
  py::class_<Simulated, ModelPart, std::shared_ptr<Simulated>>(
      m, "Simulated", "A simulated language model with known skills: call its results simulated.")
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
  py::class_<Bm25, RetrieverPart, std::shared_ptr<Bm25>>(m, "Bm25",
                                                         "BM25 over an index in memory, scored as Lucene does.")
      .def(py::init(
               [](std::vector<Passage> passages, double k1, double b, const std::string& analyzer, unsigned threads) {
                 backend::Bm25Options options;
                 options.k1 = k1;
                 options.b = b;
                 options.analyzer = backend::Analyzer::named(analyzer);
                 options.threads = threads;
                 const py::gil_scoped_release unlock;
                 return Bm25(opens<Query, Passages>(backend::Bm25(std::move(passages), options)));
               }),
           py::arg("passages"), py::kw_only(), py::arg("k1") = bm25.k1, py::arg("b") = bm25.b,
           py::arg("analyzer") = bm25.analyzer.name(), py::arg("threads") = bm25.threads,
           "Analyzers: 'simple' and 'english-lucene'. No number of threads changes an answer; 0: as many as the "
           "machine runs at once.");

  py::class_<sim::World>(
      m, "World",
      "A generated knowledge graph with passages and multi-hop questions; the same options give the same world.")
      .def(py::init([](std::size_t passages, std::size_t questions, std::uint64_t seed, unsigned max_hops) {
             return sim::World(sim::World::Options{passages, questions, seed, max_hops});
           }),
           py::arg("passages") = 2000, py::arg("questions") = 100, py::arg("seed") = 1, py::kw_only(),
           py::arg("max_hops") = 4)
      .def_property_readonly("questions", &sim::World::examples)
      .def_property_readonly("passages", [](const sim::World& world) {
        std::vector<Passage> passages;
        passages.reserve(world.size());
        for (std::size_t i = 0; i < world.size(); ++i) passages.push_back(world.passage(i));
        return passages;
      });
}

}  // namespace espalier::python
