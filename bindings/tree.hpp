#pragma once

#include <espalier/output/tree_json.hpp>
#include <espalier/rag/prompt_set.hpp>

#include "bindings.hpp"

#include <memory>
#include <string>

namespace espalier::python {

/// A grown tree with what its provenance and its data rows need.
struct GrownTree {
  rag::Tree tree;
  std::string method;
  std::uint64_t seed = 0;
  std::string options;  ///< a JSON object
  std::shared_ptr<const rag::PromptSet> prompts;

  [[nodiscard]] output::TreeRecord record() const { return {tree, method, seed, options}; }
};

}  // namespace espalier::python
