#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/input_file.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

using espalier::detail::HeldBytes;

/// One named section of a checked file. It begins at a multiple of 64 bytes.
struct CheckedSection {
  char name[24];         ///< padded with zeros
  std::uint64_t offset;  ///< from the end of the header
  std::uint64_t size;
};

/// The first 4,096 bytes of a checked file. Sections follow in blocks of 64 KiB, and checksums of each. Little-endian.
struct CheckedHeader {
  static constexpr std::size_t most_sections = 100;
  static constexpr std::uint32_t this_layout = 1;

  char magic[8];               ///< "espalier"
  std::uint32_t layout;        ///< of this header
  std::uint32_t version;       ///< of the sections' content
  char kind[16];               ///< kind of file, padded with zeros
  std::uint64_t file_size;     ///< header, sections and checksums
  std::uint64_t payload_size;  ///< bytes of all sections, with the padding between them
  std::uint64_t checksums;     ///< checksum of the checksums
  std::uint64_t sections;      ///< how many there are
  CheckedSection section[most_sections];
  char unused[24];
  std::uint64_t checksum;  ///< of all bytes before it
};
static_assert(sizeof(CheckedHeader) == 4096 && std::endian::native == std::endian::little);

inline constexpr std::size_t checked_block = std::size_t(1) << 16;

/// The text of a name field, without its padding.
template <std::size_t N>
std::string checked_name(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

/// A checksum of bytes at a place. It sees any change within eight aligned bytes, and any other with 1 - 2^-64.
inline std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t place) noexcept {
  std::array<std::uint64_t, 4> lanes{0x9ae16a3b2f90404fULL, 0xc3a5c85c97cb3127ULL, 0xb492b66fbe98f273ULL,
                                     0x9ddfea08eb382d69ULL};
  const auto step = [&](const std::byte* at, std::size_t size) {  // one-to-one in every word and in every lane
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), at, size);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = (std::rotl(lanes[i], 23) ^ words[i]) * 0x9fb21c651e98df25ULL;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) step(bytes.data() + at, 32);
  if (at < bytes.size()) step(bytes.data() + at, bytes.size() - at);
  std::uint64_t sum = espalier::detail::mix64(place) ^ espalier::detail::mix64(bytes.size());
  for (const std::uint64_t lane : lanes) sum = espalier::detail::mix64(sum ^ lane);
  return sum;
}

/// Named sections in a file that is mapped into memory, or in memory. Each block of 64 KiB of a file is checked when it
/// is first read. A file that is cut, damaged, or of another kind or version is refused by an InputError that names
/// file, section and offset. Copies share the bytes. Any number of threads may read.
class CheckedFile {
  class Content;

 public:
  /// A section of the file. It keeps the bytes in memory.
  class Section {
   public:
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// `count` items from `first` on, valid while a copy of the section lives. Throws if damaged or beyond the section.
    template <class T>
    [[nodiscard]] std::span<const T> items(std::uint64_t first, std::uint64_t count) const {
      static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
      if (const std::uint64_t most = size_ / sizeof(T); first > most || count > most - first)
        fail_beyond(most, first, count);
      content_->check(offset_ + first * sizeof(T), count * sizeof(T));
      return {reinterpret_cast<const T*>(begin_) + first, static_cast<std::size_t>(count)};
    }
    [[nodiscard]] std::string_view text(std::uint64_t offset, std::uint64_t length) const {
      const auto found = items<char>(offset, length);
      return {found.data(), found.size()};
    }

    /// Throws InputError that names the file, the section and the problem.
    [[noreturn]] void fail(const std::string& what) const { content_->fail(name_, what); }

   private:
    friend class CheckedFile;
    [[noreturn, gnu::cold, gnu::noinline]] void fail_beyond(std::uint64_t most, std::uint64_t first,
                                                            std::uint64_t count) const {
      fail("has " + std::to_string(most) + " items, asked for " + std::to_string(count) + " from " +
           std::to_string(first));
    }
    Section(std::shared_ptr<const Content> content, std::string name, const CheckedSection& place)
        : content_(std::move(content)),
          name_(std::move(name)),
          offset_(place.offset),
          size_(place.size),
          begin_(content_->payload().data() + place.offset) {}
    std::shared_ptr<const Content> content_;
    std::string name_;
    std::uint64_t offset_, size_;
    const std::byte* begin_;
  };

  CheckedFile(const std::string& path, std::string_view kind, std::uint32_t version)
      : CheckedFile(path, espalier::detail::map_file(path), kind, version) {}
  /// `name` is for messages.
  CheckedFile(std::string name, HeldBytes bytes, std::string_view kind, std::uint32_t version)
      : content_(std::make_shared<const Content>(std::move(name), std::move(bytes), kind, version)) {}

  /// Throws if there is no section with this name.
  [[nodiscard]] Section section(const std::string& name) const { return {content_, name, content_->section(name)}; }
  /// Differs if any byte of an undamaged file differs.
  [[nodiscard]] std::uint64_t identity() const { return content_->header().checksum; }
  /// Reads the whole file and throws at the first damage.
  void verify() const { content_->check(0, content_->header().payload_size); }

 private:
  class Content {
   public:
    Content(std::string name, HeldBytes bytes, std::string_view kind, std::uint32_t version)
        : name_(std::move(name)),
          held_(std::move(bytes)),
          bytes_(held_.bytes),
          checked_(bytes_.size() / checked_block / 64 + 1) {
      check_header(kind, version);
    }

    [[noreturn]] void fail(std::string_view section, const std::string& what) const {
      throw InputError(name_, 0, "", (section.empty() ? "" : "section '" + std::string(section) + "' ") + what);
    }
    [[nodiscard]] const CheckedHeader& header() const { return *reinterpret_cast<const CheckedHeader*>(bytes_.data()); }
    [[nodiscard]] std::span<const std::byte> payload() const {
      return bytes_.subspan(sizeof(CheckedHeader), static_cast<std::size_t>(header().payload_size));
    }
    [[nodiscard]] const CheckedSection& section(const std::string& name) const {
      for (const CheckedSection& section : sections())
        if (name == checked_name(section.name)) return section;
      fail(name, "is missing");
    }

    /// Checks the blocks that hold `length` bytes of the payload, each once. Two threads may do this at the same time.
    void check(std::uint64_t offset, std::uint64_t length) const {
      if (length == 0 || !held_.of_file) return;
      for (std::uint64_t block = offset / checked_block; block <= (offset + length - 1) / checked_block; ++block) {
        std::atomic<std::uint64_t>& word = checked_[static_cast<std::size_t>(block / 64)];
        const std::uint64_t bit = std::uint64_t(1) << (block % 64);
        if (word.load(std::memory_order_relaxed) & bit) continue;
        check_block(block);
        word.fetch_or(bit, std::memory_order_relaxed);
      }
    }

   private:
    void check_header(std::string_view kind, std::uint32_t version) const {
      if (bytes_.size() < sizeof(CheckedHeader))
        fail("", "is cut: it has " + std::to_string(bytes_.size()) + " bytes, less than a header");
      const CheckedHeader& h = header();
      if (checked_name(h.magic) != "espalier") fail("", "is not an index file of Espalier");
      if (h.layout != CheckedHeader::this_layout)
        fail("", "is of layout " + std::to_string(h.layout) + ", this version reads layout 1: build the index again");
      if (checksum(bytes_.first(offsetof(CheckedHeader, checksum)), 0) != h.checksum)
        fail("", "is damaged in its header");
      const std::string found = checked_name(h.kind);
      if (found != kind) fail("", "holds '" + found + "', not '" + std::string(kind) + "'");
      if (h.version != version)
        fail("", "is of version " + std::to_string(h.version) + " of '" + std::string(kind) + "', this version reads " +
                     std::to_string(version) + ": build the index again (espalier index build)");
      if (h.file_size != bytes_.size())
        fail("", "is cut: it has " + std::to_string(bytes_.size()) + " bytes of " + std::to_string(h.file_size));
      if (h.sections > h.most_sections || h.payload_size > h.file_size ||
          sizeof h + h.payload_size + 8 * blocks() != h.file_size)
        fail("", "has a wrong header");
      for (const CheckedSection& s : sections())
        if (s.offset % 64 != 0 || s.offset > h.payload_size || s.size > h.payload_size - s.offset)
          fail(checked_name(s.name), "lies outside the file");
      if (checksum(bytes_.last(std::size_t(8 * blocks())), 0) != h.checksums) fail("", "is damaged in its checksums");
    }

    void check_block(std::uint64_t block) const {
      const std::uint64_t begin = block * checked_block,
                          end = std::min<std::uint64_t>(begin + checked_block, header().payload_size);
      std::uint64_t expected = 0;
      std::memcpy(&expected, bytes_.data() + sizeof(CheckedHeader) + header().payload_size + 8 * block,
                  sizeof expected);
      if (checksum(payload().subspan(std::size_t(begin), std::size_t(end - begin)), block) == expected) return;
      for (const CheckedSection& s : sections())
        if (s.offset + s.size > begin && s.offset < end)
          fail(checked_name(s.name), "is damaged between its bytes " +
                                         std::to_string(begin > s.offset ? begin - s.offset : 0) + " and " +
                                         std::to_string(std::min(end - s.offset, s.size)));
      fail("", "is damaged between its sections");
    }

    [[nodiscard]] std::uint64_t blocks() const { return (header().payload_size + checked_block - 1) / checked_block; }
    [[nodiscard]] std::span<const CheckedSection> sections() const {
      return {header().section, static_cast<std::size_t>(header().sections)};
    }

    std::string name_;
    HeldBytes held_;
    std::span<const std::byte> bytes_;
    mutable std::vector<std::atomic<std::uint64_t>> checked_;  // one bit per block
  };

  std::shared_ptr<const Content> content_;
};

}  // namespace espalier::backend::detail
