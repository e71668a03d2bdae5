#pragma once

#include <espalier/core/error.hpp>

#include <filesystem>

namespace espalier::run::detail {

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

}  // namespace espalier::run::detail
