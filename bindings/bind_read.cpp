#include "tree.hpp"

#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/method/decex_prompts.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/output/tree_reader.hpp>
#endif

#include <pybind11/stl.h>

#include <utility>
#include <vector>

namespace espalier::python {

#ifdef ESPALIER_HAS_SIMDJSON

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
  m.def(
      "read_trees",
      [](const std::string& path) {
        const auto prompts = std::make_shared<const rag::PromptSet>(method::decex_prompts());
        std::vector<std::shared_ptr<GrownTree>> trees;
        for (auto& read : output::read_trees(path))
          trees.push_back(std::make_shared<GrownTree>(
              GrownTree{std::move(read.tree), std::move(read.method), read.seed, std::move(read.options), prompts}));
        return trees;
      },
      py::arg("path"));
}

#else

void bind_read(py::module_& m) {
  for (const char* name : {"read_questions", "read_passages", "read_trees"})
    m.def(name, [](const py::args&, const py::kwargs&) { throw MissingPart("reading JSON", "libsimdjson-dev"); });
}

#endif

}  // namespace espalier::python
