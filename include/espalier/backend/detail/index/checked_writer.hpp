#pragma once

#include <espalier/backend/index/checked_file.hpp>
#include <espalier/core/atomic_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Writes a checked file, section by section. It appears whole at commit() or not at all. Throws InputError.
class CheckedWriter {
 public:
  /// Without a path it writes to memory.
  CheckedWriter(const std::optional<std::string>& path, std::string_view kind, std::uint32_t version)
      : path_(path.value_or("an index in memory")), kind_(kind) {
    if (path) file_.emplace(*path);
    std::memcpy(header_.magic, "espalier", sizeof header_.magic);
    header_.layout = CheckedHeader::this_layout;
    header_.version = version;
    kind.copy(header_.kind, sizeof header_.kind);
    put(&header_, sizeof header_);  // its place, filled in at the end
  }

  /// Ends the open section and opens the next.
  void begin(std::string_view section) {
    end_section();
    append(std::string(static_cast<std::size_t>(-header_.payload_size % 64), '\0'));
    CheckedSection& next = header_.section[header_.sections++];
    section.copy(next.name, sizeof next.name);
    next.offset = header_.payload_size;
  }
  /// Adds to the open section.
  template <class T, std::size_t N>
  void write(std::span<T, N> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    append({reinterpret_cast<const char*>(items.data()), items.size_bytes()});
  }
  void write(std::string_view text) { append(text); }
  /// A section with these items alone.
  void write(std::string_view section, const auto& items) {
    begin(section);
    write(items);
  }
  /// Bytes in the open section so far.
  [[nodiscard]] std::uint64_t position() const {
    return header_.payload_size - header_.section[header_.sections - 1].offset;
  }

  CheckedFile commit() {
    end_section();
    if (!block_.empty()) end_block();
    put(checksums_.data(), 8 * checksums_.size());
    header_.file_size = sizeof header_ + header_.payload_size + 8 * checksums_.size();
    header_.checksums = checksum(std::as_bytes(std::span(checksums_)), 0);
    header_.checksum = checksum(std::as_bytes(std::span(&header_, 1)).first(offsetof(CheckedHeader, checksum)), 0);
    if (!file_) {
      std::memcpy(memory_.data(), &header_, sizeof header_);
      const auto held = std::make_shared<const std::string>(std::move(memory_));
      return CheckedFile(path_, {std::as_bytes(std::span(*held)), held}, kind_, header_.version);
    }
    file_->rewind();
    put(&header_, sizeof header_);
    file_->commit();
    return CheckedFile(path_, kind_, header_.version);
  }

 private:
  void end_section() {
    if (header_.sections > 0) header_.section[header_.sections - 1].size = position();
  }
  void append(std::string_view bytes) {
    header_.payload_size += bytes.size();
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, checked_block - block_.size());
      block_ += part;
      bytes.remove_prefix(part.size());
      if (block_.size() == checked_block) end_block();
    }
  }
  void end_block() {
    checksums_.push_back(checksum(std::as_bytes(std::span(block_)), checksums_.size()));
    put(block_.data(), block_.size());
    block_.clear();
  }
  void put(const void* bytes, std::size_t size) {
    const std::string_view text(static_cast<const char*>(bytes), size);
    if (file_) file_->write(text);
    else memory_ += text;
  }

  std::string path_, kind_;
  std::optional<espalier::detail::AtomicFile> file_;
  std::string memory_;
  CheckedHeader header_{};
  std::string block_;  // bytes of the block being filled
  std::vector<std::uint64_t> checksums_;
};

}  // namespace espalier::backend::detail
