#include "tree.hpp"

#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/method/decex/prompts.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/output/tree_reader.hpp>
#endif

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

#ifdef ESPALIER_HAS_SIMDJSON

namespace {

/// The prompts of the method that a tree names; searches that are no methods grow it over DecEx-RAG's policy loop.
rag::PromptSet prompts_of(const std::string& method) {
  return method::detail::methods().contains(method) ? method::make_method(method)->prompts() : method::decex_prompts();
}

std::shared_ptr<GrownTree> grown(output::RecordedTree read, std::shared_ptr<const rag::PromptSet> prompts) {
  return std::make_shared<GrownTree>(
      GrownTree{std::move(read.tree), std::move(read.method), read.seed, std::move(read.options), std::move(prompts)});
}

}  // namespace

std::shared_ptr<GrownTree> tree_of(const TreeState& state) {
  const auto& [line, texts] = state;
  std::istringstream in(line);
  output::RecordedTree read = std::move(output::read_trees(in, "a pickled Tree").front());
  const rag::PromptSet built_in = prompts_of(read.method);
  const auto prompts =
      std::make_shared<const rag::PromptSet>(built_in.protocol(), texts.empty() ? built_in.texts() : texts);
  return grown(std::move(read), prompts);
}

void bind_read(py::module_& m) {
  m.def(
      "read_questions",
      [](const std::string& path, std::size_t limit, bool require_gold) {
        return output::read_questions(path, {.limit = limit, .require_gold = require_gold});
      },
      py::arg("path"), py::arg("limit"), py::arg("require_gold"));
  m.def(
      "read_passages",
      [](const std::string& path, std::size_t limit) { return output::read_passages(path, {.limit = limit}); },
      py::arg("path"), py::arg("limit"));
  m.def("gold_name", [](const std::string& name) { return output::detail::gold_name(name); }, py::arg("name"));
  m.def(
      "unread_gold",
      [](const std::string& row, const rag::Gold& gold) {
        simdjson::dom::parser parser;
        simdjson::dom::element fields;
        return parser.parse(row).get(fields) ? std::string() : output::detail::unread_gold(fields, gold);
      },
      py::arg("row"), py::arg("gold"));
  m.attr("id_fields") = py::tuple(py::cast(detail::question_ids));
  m.def(
      "read_trees",
      [](const std::string& path) {
        std::map<std::string, std::shared_ptr<const rag::PromptSet>> prompts;
        std::vector<std::shared_ptr<GrownTree>> trees;
        for (auto& read : output::read_trees(path)) {
          auto& shared = prompts[read.method];
          if (!shared) shared = std::make_shared<const rag::PromptSet>(prompts_of(read.method));
          trees.push_back(grown(std::move(read), shared));
        }
        return trees;
      },
      py::arg("path"));
}

#else

std::shared_ptr<GrownTree> tree_of(const TreeState&) { throw MissingPart("reading JSON", "libsimdjson-dev"); }

#endif

}  // namespace espalier::python
