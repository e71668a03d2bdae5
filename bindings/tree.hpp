#pragma once

#include <espalier/output/tree_json.hpp>
#include <espalier/rag/prompt_set.hpp>

#include "bindings.hpp"

#include <memory>
#include <string>
#include <tuple>

namespace espalier::python {

/// A grown tree with the fields for its provenance and data rows.
struct GrownTree {
  rag::Tree tree;
  std::string method;
  std::uint64_t seed = 0;
  std::string options;  ///< a JSON object
  std::shared_ptr<const rag::PromptSet> prompts;

  [[nodiscard]] output::TreeRecord record() const { return {tree, method, seed, options}; }
};

/// What pickle and copy keep of a tree: its line of trees.jsonl, and the texts of its prompts.
using TreeState = std::tuple<std::string, rag::PromptSet::Texts>;
std::shared_ptr<GrownTree> tree_of(const TreeState& state);

}  // namespace espalier::python
