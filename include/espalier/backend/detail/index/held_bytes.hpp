#pragma once

#include <espalier/core/error.hpp>

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace espalier::backend::detail {

/// Bytes, and what keeps them in memory.
struct HeldBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> holder;
  bool of_file = false;
};

/// The bytes of a file, mapped into memory for reading. Throws InputError that names the path.
inline HeldBytes map_file(const std::string& path) {
  const auto fail = [&](int error) {
    throw InputError(path, 0, "", std::string("cannot be read: ") + std::strerror(error));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  struct ::stat status{};
  if (!file || ::fstat(::fileno(file.get()), &status) != 0) fail(errno);
  if (!S_ISREG(status.st_mode)) fail(EISDIR);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};  // cannot be mapped
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, ::fileno(file.get()), 0);
  if (at == MAP_FAILED) fail(errno);
  const auto unmap = [size](const void* bytes) { ::munmap(const_cast<void*>(bytes), size); };
  return {{static_cast<const std::byte*>(at), size}, std::shared_ptr<const void>(at, unmap), true};
}

}  // namespace espalier::backend::detail
