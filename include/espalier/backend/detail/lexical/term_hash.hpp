#pragma once

#include <espalier/core/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace espalier::backend::detail {

/// The hash of a term for tables of slots. It is part of the format of index files. It reads eight bytes per step.
inline std::uint64_t term_hash(std::string_view term) {
  std::uint64_t hash = term.size(), word = 0;
  for (; term.size() > 8; term.remove_prefix(8)) {
    std::memcpy(&word, term.data(), 8);
    hash = espalier::detail::mix64(hash ^ word);
  }
  word = 0;
  for (std::size_t i = 0; i < term.size(); ++i) word |= std::uint64_t(static_cast<unsigned char>(term[i])) << (8 * i);
  return espalier::detail::mix64(hash ^ word);
}

struct TermHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view term) const { return term_hash(term); }
};

}  // namespace espalier::backend::detail
