#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::detail {

/// Opens a file to read: a regular file or a pipe, as `<(command)` and /dev/stdin are. Returns its descriptor. Throws
/// InputError for others, for a file whose bytes are not there, and for a named pipe without a byte in five seconds.
inline int open_input(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const auto fail = [&](const char* why) {
    if (file >= 0) ::close(file);
    throw InputError(path, 0, "", std::string("cannot be read: ") + why);
  };
  struct ::stat found{};
  if (file < 0 || ::fstat(file, &found) != 0) fail(errno == ENXIO ? "it is a socket" : std::strerror(errno));
  if (S_ISDIR(found.st_mode)) fail(std::strerror(EISDIR));
  if (!S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode)) fail("it is a device, not a file");
  off_t missing = 0;  // in holes
  for (off_t at = 0, hole = 0; (hole = ::lseek(file, at, SEEK_HOLE)) >= 0 && hole < found.st_size; missing += at - hole)
    if ((at = ::lseek(file, hole, SEEK_DATA)) < 0) at = found.st_size;
  if (missing > (off_t(1) << 30))
    fail("more than 1 GiB of it was never written (a sparse file, or a download that has not ended)");
  ::lseek(file, 0, SEEK_SET);
  struct ::statfs system{};
  constexpr long of_processes = 0x50495045;  // where pipes without a name are
  ::pollfd first{file, POLLIN, 0};
  if (S_ISFIFO(found.st_mode) && ::fstatfs(file, &system) == 0 && system.f_type != of_processes &&
      ::poll(&first, 1, 5'000) == 0)
    fail("it is a pipe that nobody writes to");
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
  return file;
}

/// Calls f with the bytes of a file, `size` at a time and the rest at the end. Throws InputError.
void read_blocks(const std::string& path, std::size_t size, auto f) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fdopen(open_input(path), "rb"), &std::fclose);
  std::string block(size, '\0');
  while (const std::size_t got = std::fread(block.data(), 1, size, file.get()))
    f(std::string_view(block).substr(0, got));
  if (std::ferror(file.get())) throw InputError(path, 0, "", std::string("cannot be read: ") + std::strerror(errno));
}

/// All bytes of a file. Throws InputError, also for more than `most`.
inline std::string read_input(const std::string& path, std::size_t most = std::size_t(1) << 30) {
  std::string bytes;
  read_blocks(path, std::size_t(1) << 16, [&](std::string_view block) {
    if (bytes.append(block).size() > most)
      throw InputError(path, 0, "", "has more than the " + std::to_string(most >> 10) + " KiB that are read here");
  });
  return bytes;
}

/// The names in a folder. Throws InputError.
inline std::vector<std::string> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), &::closedir);
  if (!listing) throw InputError(folder, 0, "", std::string("is no folder to read: ") + std::strerror(errno));
  std::vector<std::string> names;
  while (const ::dirent* entry = ::readdir(listing.get())) names.emplace_back(entry->d_name);
  return names;
}

/// Identity of a file's bytes. Throws InputError.
inline Hash hash_file(const std::string& path) {
  Hasher hasher;
  read_blocks(path, std::size_t(1) << 20, [&](std::string_view block) { hasher.add(block); });
  return hasher.finish();
}

/// Bytes, and what keeps them in memory.
struct HeldBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> holder;
  bool of_file = false;
};

/// The bytes of a file, mapped into memory for reading. Throws InputError.
inline HeldBytes map_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fdopen(open_input(path), "rb"), &std::fclose);
  struct ::stat status{};
  ::fstat(::fileno(file.get()), &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};  // cannot be mapped, or is a pipe
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, ::fileno(file.get()), 0);
  if (at == MAP_FAILED) throw InputError(path, 0, "", std::string("cannot be read: ") + std::strerror(errno));
  const auto unmap = [size](const void* bytes) { ::munmap(const_cast<void*>(bytes), size); };
  return {{static_cast<const std::byte*>(at), size}, std::shared_ptr<const void>(at, unmap), true};
}

}  // namespace espalier::detail
