#pragma once

#include <espalier/backend/index/detail/checked_file.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Numbers in memory, or in a file whose parts are checked when read. Copies share one storage.
template <class T>
class Column {
 public:
  Column() = default;
  explicit Column(std::vector<T> items) {
    const auto owned = std::make_shared<const std::vector<T>>(std::move(items));
    items_ = *owned;
    storage_ = owned;
  }
  /// Throws InputError if the section does not hold exactly `size` numbers.
  Column(CheckedFile::Section section, std::size_t size) : section_(std::move(section)), size_(size) {
    if (section_->count<T>() != size) section_->fail("has a wrong size");
  }
  [[nodiscard]] std::size_t size() const { return section_ ? size_ : items_.size(); }
  /// Throws InputError if the file is damaged.
  [[nodiscard]] std::span<const T> operator()(std::size_t first, std::size_t count) const {
    return section_ ? section_->items<T>(first, count) : items_.subspan(first, count);
  }

 private:
  std::shared_ptr<const void> storage_;
  std::span<const T> items_;
  std::optional<CheckedFile::Section> section_;
  std::size_t size_ = 0;
};

}  // namespace espalier::backend::detail
