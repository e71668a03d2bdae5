#pragma once

#include <espalier/backend/detail/lexical/bigrams.hpp>
#include <espalier/backend/detail/lexical/english.hpp>
#include <espalier/core/error.hpp>
#include <espalier/llm/nfkc.hpp>
#include <espalier/llm/unicode.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Turns a text into the terms of a lexical index. The name represents the function in fingerprints, so two different
/// functions need two names. Indexing may call it from several threads at once.
class Analyzer {
 public:
  /// The terms of a text, in order, with repetitions. They share one buffer: a reused object allocates nothing.
  class Terms {
   public:
    void clear() {
      text_.clear();
      ends_.clear();
      length_ = 0;
    }
    void add(std::string_view term) {
      text_ += term;
      ends_.push_back(text_.size());
    }
    [[nodiscard]] std::size_t size() const { return ends_.size(); }
    /// What the text weighs as a passage: its terms, or another number of words.
    [[nodiscard]] std::size_t length() const { return length_ ? length_ : size(); }
    void set_length(std::size_t words) { length_ = words; }
    [[nodiscard]] std::string_view operator[](std::size_t i) const {
      const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
      return std::string_view(text_).substr(begin, ends_[i] - begin);
    }

   private:
    std::string text_;
    std::vector<std::size_t> ends_;  ///< of the terms in the text
    std::size_t length_ = 0;
  };

  using Function = std::function<void(std::string_view, Terms&)>;  ///< appends to terms, which are empty
  Analyzer(std::string name, Function analyze) : name_(std::move(name)), analyze_(std::move(analyze)) {}
  /// NFKC, case-folded, every longest run of letters and digits (`[^\W_]+` in Python's regular expressions), pairs of
  /// characters where words do not end at spaces (docs page "retrieval"). Its name is "simple".
  static Analyzer simple() {
    return {"simple", [](std::string_view text, Terms& terms) {
              const std::string folded = espalier::detail::casefold(espalier::detail::nfkc(text));
              bool pairs = false;
              for (std::size_t i = 0; i < folded.size();) {
                const std::size_t begin = i;
                std::size_t end = i;
                bool word = true, unspaced = false;
                while (word && i < folded.size()) {
                  const auto lead = static_cast<unsigned char>(folded[i]);
                  const char32_t c = lead < 0x80 ? (++i, lead) : espalier::detail::decode_utf8(folded, i);
                  unspaced = detail::is_unspaced(c);
                  if ((word = !unspaced && espalier::detail::is_alnum(c))) end = i;
                }
                if (end > begin) terms.add(std::string_view(folded).substr(begin, end - begin));
                if (!unspaced) continue;
                i = detail::add_bigrams(folded, end, terms);
                pairs = true;
              }
              if (pairs) terms.set_length(detail::runs(folded));
            }};
  }
  /// Lucene's analyzer for English. It takes standard words, removes a possessive 's, lowers case, drops 33 stop words,
  /// and applies Porter's stemmer. As there, Han and Hiragana are single characters. Its name is "english-lucene".
  static Analyzer english_lucene() {
    return {
        "english-lucene", [](std::string_view text, Terms& terms) {
          static constexpr std::string_view stop_words[] = {
              "a",   "an",    "and",  "are",   "as",    "at",   "be",   "but", "by",  "for",  "if",
              "in",  "into",  "is",   "it",    "no",    "not",  "of",   "on",  "or",  "such", "that",
              "the", "their", "then", "there", "these", "they", "this", "to",  "was", "will", "with"};
          for (std::string_view word : detail::standard_words(text)) {
            for (std::string_view apostrophe : {"'", "\u2019", "\uFF07"})
              if ((word.ends_with('s') || word.ends_with('S')) && word.substr(0, word.size() - 1).ends_with(apostrophe))
                word.remove_suffix(apostrophe.size() + 1);
            std::string term = espalier::detail::to_lower(word);
            if (!std::ranges::binary_search(stop_words, std::string_view(term)))
              terms.add(detail::PorterStemmer::stem(std::move(term)));
          }
        }};
  }
  /// The analyzer of this name. Throws std::invalid_argument that lists the names.
  static Analyzer named(std::string_view name) {
    if (name == "simple") return simple();
    if (name == "english-lucene") return english_lucene();
    bad_option("analyzer", name, "simple, english-lucene");
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  void operator()(std::string_view text, Terms& terms) const {
    terms.clear();
    analyze_(text, terms);
  }
  /// The terms as separate strings.
  [[nodiscard]] std::vector<std::string> operator()(std::string_view text) const {
    Terms terms;
    analyze_(text, terms);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < terms.size(); ++i) words.emplace_back(terms[i]);
    return words;
  }

 private:
  std::string name_;
  Function analyze_;
};

}  // namespace espalier::backend
