#pragma once

#include <espalier/backend/detail/index/checked_file.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// A section of an index, in memory or in a CheckedFile. Copies share it. Wrong sizes and damage throw Error.
class IndexSection {
 public:
  explicit IndexSection(std::shared_ptr<const std::string> memory)
      : bytes_(std::as_bytes(std::span(*memory))), memory_(std::move(memory)) {}
  template <class T>
  explicit IndexSection(std::vector<T> items) {
    const auto owned = std::make_shared<const std::vector<T>>(std::move(items));
    bytes_ = std::as_bytes(std::span(*owned));
    memory_ = owned;
  }
  IndexSection(CheckedFile::Section section) : file_(std::move(section)) {}  // NOLINT: it is one

  [[nodiscard]] std::uint64_t size() const { return file_ ? file_->size() : bytes_.size(); }
  /// `count` numbers or records from `first` on, valid as long as a copy of the section lives.
  template <class T>
  [[nodiscard]] std::span<const T> items(std::uint64_t first, std::uint64_t count) const {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
    if (file_) return file_->items<T>(first, count);
    if (const std::uint64_t most = bytes_.size() / sizeof(T); first > most || count > most - first)
      throw Error("an index in memory reaches behind its end");
    return {reinterpret_cast<const T*>(bytes_.data()) + first, static_cast<std::size_t>(count)};
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> memory_;
  std::optional<CheckedFile::Section> file_;
};

/// The sections of an index in memory. Written like those of a CheckedWriter, read like those of a CheckedFile.
class IndexMemory {
 public:
  void begin(std::string_view section) { sections_.push_back({std::string(section), std::make_shared<std::string>()}); }
  template <class T>
  void write(std::span<const T> items) {
    write(std::string_view(reinterpret_cast<const char*>(items.data()), items.size_bytes()));
  }
  void write(std::string_view text) { *sections_.back().bytes += text; }
  [[nodiscard]] std::uint64_t position() const { return sections_.back().bytes->size(); }

  [[nodiscard]] IndexSection section(std::string_view name) const {
    const auto found = std::ranges::find(sections_, name, &Section::name);
    if (found == sections_.end()) throw Error("an index has no section '" + std::string(name) + "'");
    return IndexSection(found->bytes);
  }

 private:
  struct Section {
    std::string name;
    std::shared_ptr<std::string> bytes;
  };
  std::vector<Section> sections_;
};

}  // namespace espalier::backend::detail
