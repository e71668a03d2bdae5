#pragma once

#include <espalier/core/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::backend {

/// Where a term is looked for in tables of slots; part of the format of indexes on disk.
inline std::uint64_t term_hash(std::string_view term) { return Hasher().add(term).finish().low; }

/// Numbers terms in order of appearance.
class TermTable {
 public:
  /// The number of a term; a new one gets the next.
  std::uint32_t number(std::string_view term) {
    if (2 * terms_.size() >= slots_.size()) grow();
    const std::uint64_t hash = term_hash(term);
    for (std::uint64_t i = hash;; ++i) {
      std::uint32_t& slot = slots_[i & (slots_.size() - 1)];
      if (slot == 0) {
        terms_.push_back({hash, text_.size(), term.size()});
        text_ += term;
        return (slot = static_cast<std::uint32_t>(terms_.size())) - 1;
      }
      if (terms_[slot - 1].hash == hash && (*this)[slot - 1] == term) return slot - 1;
    }
  }
  [[nodiscard]] std::size_t size() const { return terms_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t number) const {
    return std::string_view(text_).substr(terms_[number].begin, terms_[number].size);
  }
  void clear() {
    slots_.assign(slots_.size(), 0);
    terms_.clear();
    text_.clear();
  }

 private:
  struct Term {
    std::uint64_t hash;
    std::size_t begin, size;
  };
  void grow() {
    slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), 0);
    for (std::size_t n = 0; n < terms_.size(); ++n) {
      std::uint64_t i = terms_[n].hash;
      while (slots_[i & (slots_.size() - 1)] != 0) ++i;
      slots_[i & (slots_.size() - 1)] = static_cast<std::uint32_t>(n + 1);
    }
  }

  std::vector<std::uint32_t> slots_;  // number + 1, 0 = free; a power of 2 of them
  std::vector<Term> terms_;
  std::string text_;
};

}  // namespace espalier::backend
