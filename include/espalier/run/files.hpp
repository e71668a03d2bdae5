#pragma once

#include <espalier/core/atomic_file.hpp>
#include <espalier/core/error.hpp>

#include <filesystem>
#include <string_view>

namespace espalier::run::detail {

using espalier::detail::AtomicFile;

/// What the file system refused, as an error that names the path.
inline InputError input_error(const std::filesystem::filesystem_error& error) {
  return InputError(error.path1().string(), 0, "", "cannot be used: " + error.code().message());
}

/// Does what uses std::filesystem, whose errors become InputError.
template <class Work>
auto with_files(Work&& work) {
  try {
    return work();
  } catch (const std::filesystem::filesystem_error& error) {
    throw input_error(error);
  }
}

/// Writes a file, whole or not at all. Throws InputError.
inline void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path.string());
  file.write(text);
  file.commit();
}

}  // namespace espalier::run::detail
