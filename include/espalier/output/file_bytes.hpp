#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/input_file.hpp>

#ifdef ESPALIER_HAS_ZLIB
#include <zlib.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::output::detail {

#ifdef ESPALIER_HAS_ZLIB

/// A stream buffer over a file, decompressed if it is gzip. A file that is missing, cut or damaged causes an
/// InputError. An istream passes it on only after exceptions(std::ios::badbit) is set.
class FileBytes : public std::streambuf {
 public:
  explicit FileBytes(std::string path)
      : path_(std::move(path)), file_(::gzdopen(espalier::detail::open_input(path_), "rb")), bytes_(1 << 18) {
    ::gzbuffer(file_, 1 << 18);
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override { ::gzclose(file_); }

  /// Position in the file, in its own (compressed) bytes.
  [[nodiscard]] std::uint64_t position() const { return static_cast<std::uint64_t>(::gzoffset(file_)); }

 protected:
  int_type underflow() override {
    const int got = ::gzread(file_, bytes_.data(), static_cast<unsigned>(bytes_.size()));
    int error = Z_OK;
    const char* const what = ::gzerror(file_, &error);
    if (got < 0 || error != Z_OK)  // a cut file has given all of its bytes, and zlib may say so only once
      throw InputError(path_, 0, "", "cannot be read: " + std::string(error == Z_ERRNO ? std::strerror(errno) : what));
    const std::size_t end = std::string_view(bytes_.data(), static_cast<std::size_t>(got)).rfind('\n');
    line_ = end == std::string_view::npos ? line_ + got : got - end - 1;
    if (line_ > std::size_t(1) << 30) throw InputError(path_, 0, "", "holds a line of more than a gibibyte");
    setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(bytes_[0]);
  }

 private:
  std::string path_;
  ::gzFile file_;
  std::vector<char> bytes_;
  std::size_t line_ = 0;  // bytes of the line that is read
};

#else

struct FileBytes : std::filebuf {
  explicit FileBytes(const std::string& path) {
    if (path.ends_with(".gz")) throw MissingPart("reading .gz", "zlib1g-dev");
    ::close(espalier::detail::open_input(path));
    open(path, std::ios::in | std::ios::binary);
  }
  [[nodiscard]] std::uint64_t position() { return static_cast<std::uint64_t>(pubseekoff(0, std::ios::cur)); }
};

#endif

/// The same as a stream.
struct FileStream : FileBytes, std::istream {
  explicit FileStream(const std::string& path) : FileBytes(path), std::istream(static_cast<FileBytes*>(this)) {
#ifdef ESPALIER_HAS_ZLIB
    exceptions(std::ios::badbit);
#endif
  }
};

}  // namespace espalier::output::detail
