#pragma once

#include <espalier/core/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace espalier::backend::detail {

/// The bytes of a file, mapped into memory for reading. Throws InputError that names the path.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct ::stat status{};
    if (file < 0 || ::fstat(file, &status) != 0) fail(path, file);
    if (!S_ISREG(status.st_mode)) fail(path, file, EISDIR);
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > 0) {  // an empty file cannot be mapped
      void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
      if (at == MAP_FAILED) fail(path, file);
      bytes_ = {static_cast<const std::byte*>(at), size};
    }
    ::close(file);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  [[noreturn]] static void fail(const std::string& path, int file, int error = errno) {
    if (file >= 0) ::close(file);
    throw InputError(path, 0, "", std::string("cannot be read: ") + std::strerror(error));
  }
  std::span<const std::byte> bytes_;
};

}  // namespace espalier::backend::detail
