#pragma once

#include <espalier/backend/index/detail/mapped_file.hpp>
#include <espalier/backend/lexical/detail/run.hpp>
#include <espalier/core/error.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// The runs of an index under construction, in memory or in a file that the store removes.
class RunStore {
 public:
  /// Keeps runs in memory if the path is empty. Throws InputError that names the path.
  explicit RunStore(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    file_ = std::fopen(path_.c_str(), "wb");
    if (file_ == nullptr) fail();
  }
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;
  ~RunStore() {
    if (file_ != nullptr) std::fclose(file_);
    if (!path_.empty()) std::remove(path_.c_str());
  }

  void resize(std::size_t runs) { runs_.resize(runs); }
  /// Stores run i. Only one thread at a time may call it.
  void put(std::size_t i, std::string bytes) {
    runs_[i].size = bytes.size();
    if (path_.empty()) {
      bytes.shrink_to_fit();
      runs_[i].bytes = std::move(bytes);
    } else {
      runs_[i].begin = end_;
      end_ += bytes.size();
      if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
    }
  }
  /// Readers of all runs in order, valid as long as the store. Call put() no more afterwards.
  std::vector<LexicalRunReader> readers() {
    if (file_ != nullptr) {
      if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
      mapping_.emplace(path_);
    }
    std::vector<LexicalRunReader> readers;
    for (const Run& run : runs_)
      readers.emplace_back(mapping_ ? mapping_->bytes().subspan(run.begin, run.size)
                                    : std::as_bytes(std::span(run.bytes)));
    return readers;
  }

 private:
  struct Run {
    std::string bytes;
    std::size_t begin = 0, size = 0;
  };
  [[noreturn]] void fail() const {
    throw InputError(path_, 0, "", std::string("cannot be written: ") + std::strerror(errno));
  }

  std::string path_;
  std::FILE* file_ = nullptr;
  std::optional<MappedFile> mapping_;
  std::vector<Run> runs_;
  std::size_t end_ = 0;
};

}  // namespace espalier::backend::detail
