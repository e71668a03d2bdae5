#pragma once

#include <espalier/output/tree_reader.hpp>
#include <espalier/run/method.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// The trees that a run recorded, by question.
class RecordedTrees {
 public:
  RecordedTrees() = default;
  /// Throws InputError.
  explicit RecordedTrees(const std::string& path) {
    for (auto& recorded : output::read_trees(path)) {
      const std::string id = recorded.tree.state(rag::Tree::root()).question().id;
      trees_.insert_or_assign(id, std::move(recorded.tree));
    }
  }
  /// Hands a question's tree over with what a method adds to it; a BackendError if the run left the question open.
  Task<rag::Tree> annotate(Method& method, const std::string& id, const std::vector<std::string>& with) {
    const auto found = trees_.find(id);
    if (found == trees_.end()) return left_open();
    rag::Tree tree = std::move(found->second);
    trees_.erase(found);
    return method.annotate(std::move(tree), with);
  }

 private:
  static Task<rag::Tree> left_open() {
    throw BackendError("the run left this question open: go on with it first", BackendError::Kind::permanent);
    co_return rag::Tree();
  }
  std::map<std::string, rag::Tree> trees_;
};

}  // namespace espalier::run
