#pragma once

#include <espalier/core/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

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

/// Numbers terms in order of appearance. There may be fewer than 2^31.
class TermTable {
 public:
  /// The number of a term. A new term gets the next number.
  std::uint32_t number(std::string_view term) {
    if (4 * terms_.size() >= 3 * slots_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(term_hash(term));
    for (std::uint32_t i = hash;; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.term == 0) {
        terms_.push_back({text_.size(), static_cast<std::uint32_t>(term.size()), hash});
        text_ += term;
        slot = {hash, static_cast<std::uint32_t>(terms_.size())};
        return slot.term - 1;
      }
      if (slot.hash == hash && (*this)[slot.term - 1] == term) return slot.term - 1;
    }
  }
  [[nodiscard]] std::size_t size() const { return terms_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t number) const {
    return {text_.data() + terms_[number].begin, terms_[number].size};
  }
  void clear() {
    slots_.assign(slots_.size(), {});
    terms_.clear();
    text_.clear();
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t term = 0;  // number + 1, 0 = free
  };
  struct Term {
    std::size_t begin;
    std::uint32_t size, hash;
  };
  void grow() {
    slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), {});
    for (std::size_t n = 0; n < terms_.size(); ++n) {
      std::uint32_t i = terms_[n].hash;
      while (slots_[i & (slots_.size() - 1)].term != 0) ++i;
      slots_[i & (slots_.size() - 1)] = {terms_[n].hash, static_cast<std::uint32_t>(n + 1)};
    }
  }

  std::vector<Slot> slots_;  // their number is a power of 2
  std::vector<Term> terms_;
  std::string text_;
};

}  // namespace espalier::backend::detail
