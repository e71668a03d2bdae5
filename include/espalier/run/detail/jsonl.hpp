#pragma once

#include <espalier/core/atomic_file.hpp>

#include <span>
#include <string>

namespace espalier::run::detail {

using espalier::detail::AtomicFile;

/// Writes a file of these lines, whole or not at all. Throws like AtomicFile.
inline void write_lines(const std::string& path, std::span<const std::string> lines) {
  AtomicFile file(path);
  for (const std::string& line : lines) {
    file.write(line);
    file.write("\n");
  }
  file.commit();
}

}  // namespace espalier::run::detail
