#include <espalier/backend/rerank.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/rag/question.hpp>

#include "callable.hpp"
#include "names.hpp"
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::python {

bool read_floats(py::handle object, std::vector<float>& numbers) {
  if (PyObject_CheckBuffer(object.ptr()) && !PyBytes_Check(object.ptr())) {
    const py::buffer_info info = py::reinterpret_borrow<py::buffer>(object).request();
    if (info.ndim == 1 && (info.format == "f" || info.format == "d")) {
      const auto* at = static_cast<const char*>(info.ptr);
      numbers.reserve(static_cast<std::size_t>(info.shape[0]));
      for (py::ssize_t i = 0; i < info.shape[0]; ++i, at += info.strides[0])
        numbers.push_back(info.format == "f" ? *reinterpret_cast<const float*>(at)
                                             : static_cast<float>(*reinterpret_cast<const double*>(at)));
      return true;
    }
  }
  if (!PySequence_Check(object.ptr()) || PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr())) return false;
  for (const py::handle item : object) {
    const double number = PyFloat_AsDouble(item.ptr());
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    numbers.push_back(static_cast<float>(number));
  }
  return true;
}

namespace {

constexpr Names<2> roles{"query", "passage"};

/// How pickle and copy make an object again: by its constructor.
template <class T, class... Fields>
py::tuple again(const Fields&... fields) {
  return py::make_tuple(py::type::of<T>(), py::make_tuple(fields...));
}

}  // namespace

void bind_data(py::module_& m) {
  py::class_<Passage>(m, "Passage", "A passage of a corpus; `score` is what the retriever gave, higher is better.")
      .def(py::init<std::string, std::string, std::string, double>(), py::arg("id"), py::arg("title"), py::arg("text"),
           py::arg("score") = 0)
      .def_property_readonly("id", &Passage::id)
      .def_property_readonly("title", &Passage::title)
      .def_property_readonly("text", &Passage::text, "The body, without the title line.")
      .def_property_readonly("score", &Passage::score)
      .def(
          "__eq__", [](const Passage& a, const Passage& b) { return a == b; }, py::is_operator())
      .def("__hash__", [](const Passage& p) { return py::hash(py::str(p.id())); })
      .def("__reduce__", [](const Passage& p) { return again<Passage>(p.id(), p.title(), p.text(), p.score()); })
      .def("__repr__", [](const Passage& p) {
        return py::str("Passage(id={}, title={}, score={!r})").format(brief(p.id()), brief(p.title()), p.score());
      });

  py::class_<Query>(m, "Query", "One request to a retriever: a text and the number of passages wanted.")
      .def(py::init<std::string, std::uint32_t>(), py::arg("text"), py::arg("k") = 3)
      .def_readonly("text", &Query::text)
      .def_readonly("k", &Query::k)
      .def("__reduce__", [](const Query& q) { return again<Query>(q.text, q.k); });

  py::class_<EncodeRequest>(m, "EncodeRequest", "One request to an encoder; `role` is 'query' or 'passage'.")
      .def(py::init([](std::string text, const std::string& role) {
             return EncodeRequest(std::move(text), named<EncodeRequest::Role>("role", role, roles));
           }),
           py::arg("text"), py::arg("role") = "query")
      .def_readonly("text", &EncodeRequest::text)
      .def_property_readonly("role", [](const EncodeRequest& r) { return name_of(r.role, roles); });

  using backend::RerankRequest;
  py::class_<RerankRequest>(m, "RerankRequest", "One request to a reranker: how well does each text answer the query?")
      .def(py::init<std::string, std::vector<std::string>>(), py::arg("query"), py::arg("texts"))
      .def_readonly("query", &RerankRequest::query)
      .def_readonly("texts", &RerankRequest::texts);

  using rag::ChainStep;
  py::class_<ChainStep>(m, "ChainStep",
                        "One step of a question's gold chain; '#1' in its question stands for the answer of step 1.")
      .def(py::init<std::string, std::string, std::string, std::string, std::string>(), py::arg("question"),
           py::arg("answer"), py::arg("support_title") = "", py::arg("support_id") = "", py::arg("support_text") = "")
      .def_readonly("question", &ChainStep::question)
      .def_readonly("answer", &ChainStep::answer)
      .def_readonly("support_title", &ChainStep::support_title)
      .def_readonly("support_id", &ChainStep::support_id)
      .def_readonly("support_text", &ChainStep::support_text)
      .def("__reduce__", [](const ChainStep& s) {
        return again<ChainStep>(s.question, s.answer, s.support_title, s.support_id, s.support_text);
      });

  using rag::Example;
  py::class_<Example>(
      m, "Question",
      "A question with what is known about it. `gold` is for rewards and outputs only; no prompt sees it.")
      .def(py::init([](std::string text, std::string id, std::vector<std::string> gold, std::vector<ChainStep> chain) {
             if (id.empty()) id = text;
             const auto hops = static_cast<std::uint32_t>(chain.size());
             return Example{{std::move(id), std::move(text)}, std::move(gold), std::move(chain), {}, hops, {}};
           }),
           py::arg("text"), py::arg("id") = "", py::arg("gold") = std::vector<std::string>(),
           py::arg("chain") = std::vector<ChainStep>(), "Without an id the text is the id.")
      .def_property_readonly("id", [](const Example& e) { return e.question.id; })
      .def_property_readonly("text", [](const Example& e) { return e.question.text; })
      .def_readonly("gold", &Example::gold)
      .def_readonly("chain", &Example::chain)
      .def_readonly("supporting_titles", &Example::supporting_titles)
      .def_readonly("hops", &Example::hops)
      .def_readonly("type", &Example::type)
      .def(py::pickle(
          [](const Example& e) {
            return std::tuple(e.question.id, e.question.text, e.gold, e.chain, e.supporting_titles, e.hops, e.type);
          },
          [](const std::tuple<std::string, std::string, rag::Gold, std::vector<ChainStep>, std::vector<std::string>,
                              std::uint32_t, std::string>
                 s) {
            const auto& [id, text, gold, chain, titles, hops, type] = s;
            return Example{{id, text}, gold, chain, titles, hops, type};
          }))
      .def("__repr__", [](const Example& e) {
        return py::str("Question({}, id={})").format(brief(e.question.text), brief(e.question.id));
      });
}

}  // namespace espalier::python
