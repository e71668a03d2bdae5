#pragma once

#include <espalier/run/detail/jsonl.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// Several files to which each question contributes one piece, in any order. The pieces are written in question order.
/// Nothing is visible before commit().
class OrderedFiles {
 public:
  OrderedFiles(const std::filesystem::path& folder, const std::vector<std::string>& names) {
    for (const auto& name : names) files_.emplace_back((folder / name).string());
  }
  /// Takes the pieces of question `index`, one per file.
  void put(std::size_t index, std::vector<std::string> pieces) {
    waiting_.emplace(index, std::move(pieces));
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_; it = waiting_.erase(it), ++next_)
      for (std::size_t i = 0; i < files_.size(); ++i) files_[i].write(it->second[i]);
  }
  void commit() {
    for (auto& file : files_) file.commit();
  }

 private:
  std::vector<AtomicFile> files_;
  std::map<std::size_t, std::vector<std::string>> waiting_;
  std::size_t next_ = 0;
};

}  // namespace espalier::run::detail
