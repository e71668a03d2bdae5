#pragma once

#include <espalier/core/seed.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace espalier {

/// A completion that could not be read, as a tree remembers it.
class Unread {
 public:
  static constexpr std::size_t kept = 200;  ///< bytes of its text at most, cut between two UTF-8 characters

  /// One that was drawn under this seed and sample index. `max_tokens`: the limit that ended it, 0 = it ended by
  /// itself.
  Unread(std::string_view whole, std::uint64_t max_tokens, Seed seed, std::uint32_t sample)
      : text(beginning(whole)), cut_at(max_tokens), rank_(seed.rank()), seed_(seed.value()), sample_(sample) {}

  std::string text;          ///< its beginning
  std::uint64_t cut_at = 0;  ///< max_tokens, if that limit ended it; else 0
  bool in_thought = false;   ///< that limit ended it inside a thought

  /// Nearer to the root, or of the earlier sibling or sample: an order in which time has no part. One that was read
  /// from a file goes before all others: a file does not say where it was drawn.
  [[nodiscard]] bool before(const Unread& other) const {
    return std::tie(rank_, seed_, sample_, text, cut_at) <
           std::tie(other.rank_, other.seed_, other.sample_, other.text, other.cut_at);
  }
  friend bool operator==(const Unread& a, const Unread& b) {
    return a.text == b.text && a.cut_at == b.cut_at && a.in_thought == b.in_thought;
  }

 private:
  static std::string_view beginning(std::string_view text) {
    std::size_t size = text.size();
    if (size > kept)
      for (size = kept; size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80;) --size;
    return text.substr(0, size);
  }

  std::uint64_t rank_ = 0, seed_ = 0;
  std::uint32_t sample_ = 0;
};

}  // namespace espalier
