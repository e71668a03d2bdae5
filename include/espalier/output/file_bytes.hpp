#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/input_file.hpp>

#ifdef ESPALIER_HAS_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::output::detail {

/// A stream buffer over a file, decompressed if it is gzip: members one after another, with zeros behind them. A file
/// that is missing, cut or damaged, or has anything else there, causes an InputError (zlib's gzread() takes that for
/// the file's end). An istream passes it on only after exceptions(std::ios::badbit) is set.
class FileBytes : public std::streambuf {
 public:
  explicit FileBytes(std::string path)
      : path_(std::move(path)), file_(::fdopen(espalier::detail::open_input(path_), "rb"), &std::fclose) {
    packed_ = load() && left_.starts_with("\x1f\x8b");
  }
  /// Position in the file, in its own (compressed) bytes.
  [[nodiscard]] std::uint64_t position() const { return loaded_ - left_.size(); }

 protected:
  int_type underflow() override {
    std::string_view got;
    const std::uint64_t before = loaded_;
    while (got.empty() && (!left_.empty() || load())) {
      got = packed_ ? unpacked() : std::exchange(left_, {});
      if (got.empty() && loaded_ - before > std::uint64_t(1) << 20) fail("nothing is packed in a mebibyte of it");
    }
    if (got.empty() && inside_) fail("it is cut short, or something that is not gzip stands behind its data");
    const std::size_t end = got.rfind('\n');
    line_ = end == got.npos ? line_ + got.size() : got.size() - end - 1;
    if (line_ > std::size_t(1) << 30) throw InputError(path_, 0, "", "holds a line of more than a gibibyte");
    char* const begin = const_cast<char*>(got.data());
    setg(begin, begin, begin + got.size());
    return got.empty() ? traits_type::eof() : traits_type::to_int_type(got[0]);
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw InputError(path_, 0, "", std::string("cannot be read: ") + why);
  }
  /// Reads the next block. False at the end of the file.
  bool load() {
    left_ = {block_.data(), std::fread(block_.data(), 1, block_.size(), file_.get())};
    loaded_ += left_.size();
    if (std::ferror(file_.get())) fail(std::strerror(errno));
    return !left_.empty();
  }
  /// Decompresses some of what is left.
  std::string_view unpacked() {
#ifdef ESPALIER_HAS_ZLIB
    if (!zip_.state && ::inflateInit2(&zip_, 15 + 16) != Z_OK) fail("too little memory");  // 16: of gzip's form
    if (!inside_) left_.remove_prefix(std::min(left_.find_first_not_of('\0'), left_.size()));
    zip_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left_.data()));
    zip_.next_out = reinterpret_cast<Bytef*>(text_.data());
    zip_.avail_in = static_cast<uInt>(left_.size());
    zip_.avail_out = static_cast<uInt>(text_.size());
    const int state = left_.empty() ? Z_STREAM_END : ::inflate(&zip_, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) fail(zip_.msg ? zip_.msg : "too little memory");
    inside_ = state == Z_OK;
    if (!inside_) ::inflateReset(&zip_);
    left_.remove_prefix(left_.size() - zip_.avail_in);
    return std::string_view(text_).substr(0, text_.size() - zip_.avail_out);
#else
    throw MissingPart("reading .gz", "zlib1g-dev");
#endif
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string block_ = std::string(1 << 18, '\0'), text_ = block_;
  std::string_view left_;     ///< of the block
  std::uint64_t loaded_ = 0;  ///< bytes of the file
  std::size_t line_ = 0;      ///< bytes of the line that is read
  bool packed_ = false, inside_ = false;
#ifdef ESPALIER_HAS_ZLIB
  ::z_stream zip_{};
  std::unique_ptr<::z_stream, int (*)(::z_stream*)> end_{&zip_, &::inflateEnd};
#endif
};

/// The same as a stream.
struct FileStream : FileBytes, std::istream {
  explicit FileStream(const std::string& path) : FileBytes(path), std::istream(this) { exceptions(std::ios::badbit); }
};

}  // namespace espalier::output::detail
