#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace espalier::fuzz {

/// Ends the fuzzer, which keeps the input, if something does not hold.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The input as a file, for parsers that read files; one a process.
inline std::string file_of(std::string_view bytes) {
  static const std::string path = [] {
    std::string name = "/dev/shm/espalier_fuzz_XXXXXX";
    if (const int file = mkstemp(name.data()); file < 0 || close(file) != 0) std::abort();
    return name;
  }();
  static const int cleanup = std::atexit([] { std::remove(path.c_str()); });
  require(cleanup == 0, "atexit");
  std::FILE* file = std::fopen(path.c_str(), "wb");
  require(file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fclose(file) == 0,
          "a file can be written");
  return path;
}

}  // namespace espalier::fuzz
