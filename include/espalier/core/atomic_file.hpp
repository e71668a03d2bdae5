#pragma once

#include <espalier/core/error.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::detail {

/// A file that appears whole or not at all. It is written under a temporary name in its folder. commit() synchronises
/// and renames it. Without that, or if it fails, it is removed. Throws InputError that names the path.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path)
      : path_(path.empty() ? throw InputError("''", 0, "", "cannot be written: the path is empty") : std::move(path)),
        temporary_(path_ + ".part"),
        file_(std::fopen(temporary_.c_str(), "wb")) {
    if (file_ == nullptr) fail("cannot be written");
  }
  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::move(other.temporary_)),
        file_(std::exchange(other.file_, nullptr)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(temporary_.c_str());
  }

  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("cannot be written");
  }
  /// Goes back to the beginning, to fill in what stands there.
  void rewind() { std::rewind(file_); }
  /// The temporary file, which holds all that was written so far.
  [[nodiscard]] const std::string& written() {
    if (std::fflush(file_) != 0) fail("cannot be written");
    return temporary_;
  }
  void commit() {
    if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail("cannot be written");
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in place");
    std::fclose(std::exchange(file_, nullptr));
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw InputError(path_, 0, "", std::string(what) + ": " + std::strerror(errno));
  }
  std::string path_, temporary_;
  std::FILE* file_;
};

}  // namespace espalier::detail
