#pragma once

#include <espalier/method/method.hpp>
#include <espalier/output/tree_reader.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The recorded trees of a run, by question.
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
  /// Hands over a question's tree with a method's annotations. A BackendError if the run left the question open.
  Task<rag::Tree> annotate(method::Method& method, const rag::Example& example, const std::vector<std::string>& with) {
    const auto found = trees_.find(example.question.id);
    if (found == trees_.end()) return left_open();
    rag::Tree tree = std::move(found->second);
    trees_.erase(found);
    if (rag::State& root = tree.state(rag::Tree::root()); root.has_gold())
      root = rag::State(example);  // with its chain
    return method.annotate(std::move(tree), with);
  }

 private:
  static Task<rag::Tree> left_open() {
    throw BackendError("the run left this question open: go on with it first", BackendError::Kind::permanent);
    co_return rag::Tree();
  }
  std::map<std::string, rag::Tree> trees_;
};

}  // namespace espalier::run::detail
