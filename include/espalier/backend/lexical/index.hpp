#pragma once

#include <espalier/backend/detail/lexical/posting_list.hpp>
#include <espalier/backend/detail/lexical/term_hash.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace espalier::backend {

namespace detail {

/// A record of the section "terms". An additional one at the end marks the end of the last text and list.
struct LexicalTerm {
  std::uint64_t text;      ///< its start in the section "text"
  std::uint64_t postings;  ///< start of its list in the section "postings"
  std::uint32_t passages;  ///< number of passages with the term
  std::uint32_t share;     ///< upper bound of its postings' shares
};
static_assert(sizeof(LexicalTerm) == 24);

}  // namespace detail

/// All that BM25 needs: which passages contain which term how often, and the weights of passage lengths. It is in
/// memory or in a file, with the same sections. Copies share them. Any number of threads may read.
class LexicalIndex {
 public:
  /// The first section of a lexical index, "facts".
  struct Facts {
    std::uint64_t passages, terms, postings;
    std::uint64_t words;  ///< of all passages, with repetitions
    double k1, b;
    Hash corpus;            ///< ids, titles and texts in order
    std::uint64_t bigrams;  ///< postings of characters and their pairs, by `simple`
  };
  static_assert(sizeof(Facts) == 72);

  static constexpr const char* kind = "bm25";
  static constexpr std::uint32_t version = 2;

  explicit LexicalIndex(const detail::CheckedFile& file)
      : facts_(file.section("facts").items<Facts>(0, 1).front()),
        norms_(file.section("norms")),
        terms_(file.section("terms")),
        text_(file.section("text")),
        slots_(file.section("slots")),
        postings_(file.section("postings")) {
    const detail::CheckedFile::Section analyzer = file.section("analyzer");
    analyzer_ = analyzer.text(0, analyzer.size());
    const std::uint64_t slots = slots_.size() / sizeof(std::uint32_t);
    if (facts_.passages >= ~std::uint32_t(0) || facts_.terms >= ~std::uint32_t(0) ||
        norms_.size() != facts_.passages * sizeof(float) ||
        terms_.size() != (facts_.terms + 1) * sizeof(detail::LexicalTerm) || !std::has_single_bit(slots) ||
        slots <= facts_.terms)
      throw Error("a lexical index holds sections that do not fit each other");
    all_norms_ = norms_.items<float>(0, facts_.passages);
    if (!std::ranges::all_of(all_norms_, [](float norm) { return norm >= 0; }))
      throw Error("a lexical index holds a length that cannot be");
  }
  static LexicalIndex open(const std::string& path) { return LexicalIndex(detail::CheckedFile(path, kind, version)); }

  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::uint32_t passages() const { return static_cast<std::uint32_t>(facts_.passages); }
  /// The analyzer's name.
  [[nodiscard]] const std::string& analyzer() const { return analyzer_; }
  /// For each passage: k1 (1 - b + b length / mean length).
  [[nodiscard]] std::span<const float> norms() const { return all_norms_; }
  /// Size of the postings in bytes.
  [[nodiscard]] std::uint64_t postings_size() const { return postings_.size(); }

  /// The postings of a term, empty if no passage has it. The list reads from this index.
  [[nodiscard]] detail::PostingList find(std::string_view term) const {
    const std::uint64_t slots = slots_.size() / sizeof(std::uint32_t), hash = detail::term_hash(term);
    for (std::uint64_t i = 0; i < slots; ++i) {
      const std::uint32_t number = slots_.items<std::uint32_t>((hash + i) & (slots - 1), 1).front();
      if (number == 0) break;
      const auto found = terms_.items<detail::LexicalTerm>(number - 1, 2);
      if (found[1].text < found[0].text) throw Error("a lexical index holds a term that ends before it begins");
      if (text_.text(found[0].text, found[1].text - found[0].text) == term)
        return detail::PostingList(postings_, found[0].postings, found[1].postings, found[0].passages, found[0].share,
                                   passages());
    }
    return {};
  }
  /// ln(1 + (N - n + 1/2) / (n + 1/2)) for a term in n of the N passages.
  [[nodiscard]] double idf(std::uint32_t with) const {
    const double n = static_cast<double>(passages()), w = static_cast<double>(with);
    return std::log(1 + (n - w + 0.5) / (w + 0.5));
  }

 private:
  Facts facts_;
  std::string analyzer_;
  detail::CheckedFile::Section norms_, terms_, text_, slots_, postings_;
  std::span<const float> all_norms_;  // checked as a whole, because single values are read in any order
};

}  // namespace espalier::backend
