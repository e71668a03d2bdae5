#pragma once

#include <espalier/llm/passage.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace espalier::backend::detail {

/// The hash of a corpus is that of the hashes of so many passages each, so that threads can share the work.
inline constexpr std::size_t passages_hashed_together = 8192;

/// Passages by position: a std::vector<Passage>, or a store that reads them on request. Any number of threads may read.
template <class C>
concept PassageCorpus = requires(const C& corpus, std::size_t i) {
  { corpus.size() } -> std::convertible_to<std::size_t>;
  { corpus[i] } -> std::convertible_to<Passage>;
};

/// Any corpus behind one type. Copies share it.
class AnyCorpus {
 public:
  template <PassageCorpus C>
    requires(!std::same_as<C, AnyCorpus>)
  AnyCorpus(C corpus) : size_(corpus.size()) {  // NOLINT: every corpus is one
    passage_ = [shared = std::make_shared<const C>(std::move(corpus))](std::size_t i) -> Passage {
      return (*shared)[i];
    };
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Passage operator[](std::size_t i) const { return passage_(i); }

 private:
  std::size_t size_;
  std::function<Passage(std::size_t)> passage_;
};

}  // namespace espalier::backend::detail
