#pragma once

#include <espalier/core/hash.hpp>

#include <cstddef>
#include <string_view>

namespace espalier::backend::detail {

/// Identity of passages: ids, titles and texts in order. It is a hash of the hashes of blocks of `block` passages, so
/// that threads can share the work.
class CorpusHasher {
 public:
  static constexpr std::size_t block = 8192;

  void add(std::string_view id, std::string_view title, std::string_view text) {
    open_.add(id).add(title).add(text);
    if (++in_block_ == block) end_block();
  }
  [[nodiscard]] Hash finish() {
    if (in_block_ > 0) end_block();
    return all_.finish();
  }

 private:
  void end_block() {
    all_.add(open_.finish());
    open_ = Hasher();
    in_block_ = 0;
  }
  Hasher all_, open_;
  std::size_t in_block_ = 0;
};

}  // namespace espalier::backend::detail
