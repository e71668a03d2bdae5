#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::run::detail {

/// One of N parts of a run's questions, which its machine works on alone. The hash of a question's id says in which
/// part it stands, so that a part is the same wherever and whenever it is taken.
class Shard {
 public:
  /// `text` is "I/N" with 1 <= I <= N, or "" for all questions. Throws std::invalid_argument.
  explicit Shard(const std::string& text) {
    if (text.empty()) return;
    const char* const end = text.data() + text.size();
    const auto part = std::from_chars(text.data(), end, part_);
    const bool cut = part.ec == std::errc() && part.ptr != end && *part.ptr == '/';
    const auto whole = cut ? std::from_chars(part.ptr + 1, end, parts_) : part;
    if (!cut || whole.ec != std::errc() || whole.ptr != end || part_ < 1 || part_ > parts_)
      bad_option("shard", text, "I/N, from 1/N to N/N");
  }
  /// Whether the question with this id stands in this part.
  [[nodiscard]] bool takes(std::string_view id) const { return Hasher().add(id).finish().low % parts_ == part_ - 1; }

 private:
  std::uint64_t part_ = 1, parts_ = 1;
};

}  // namespace espalier::run::detail
