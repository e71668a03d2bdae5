#pragma once

#include <espalier/backend/porter.hpp>
#include <espalier/backend/standard_words.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/nearest.hpp>
#include <espalier/core/nfkc.hpp>
#include <espalier/core/unicode.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Turns a text into the terms of a lexical index, in order, repetitions included. The name stands for what it does in
/// fingerprints, so two that differ need two names. Indexing may call it from several threads at once.
class Analyzer {
 public:
  using Function = std::function<std::vector<std::string>(std::string_view)>;
  Analyzer(std::string name, Function terms) : name_(std::move(name)), terms_(std::move(terms)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::vector<std::string> operator()(std::string_view text) const { return terms_(text); }

 private:
  std::string name_;
  Function terms_;
};

/// `simple`: NFKC, case-folded, every longest run of letters and digits ([^\W_]+ of a Python regular expression).
inline Analyzer simple_analyzer() {
  return {"simple", [](std::string_view text) {
            const std::string folded = casefold(nfkc(text));
            std::vector<std::string> terms;
            for (std::size_t i = 0; i < folded.size();) {
              const std::size_t begin = i;
              std::size_t end = i;
              while (i < folded.size() && is_alnum(decode_utf8(folded, i))) end = i;
              if (end > begin) terms.emplace_back(folded, begin, end - begin);
            }
            return terms;
          }};
}

/// `english-lucene`: Lucene's analyzer for English. Standard words, a possessive 's taken off, lower case, 33 stop
/// words dropped, Porter stems.
inline Analyzer english_lucene_analyzer() {
  return {
      "english-lucene", [](std::string_view text) {
        static constexpr std::string_view stop_words[] = {
            "a",   "an",    "and",  "are",   "as",    "at",   "be",   "but", "by",  "for",  "if",
            "in",  "into",  "is",   "it",    "no",    "not",  "of",   "on",  "or",  "such", "that",
            "the", "their", "then", "there", "these", "they", "this", "to",  "was", "will", "with"};
        std::vector<std::string> terms;
        for (std::string_view word : standard_words(text)) {
          for (std::string_view apostrophe : {"'", "\u2019", "\uFF07"})
            if ((word.ends_with('s') || word.ends_with('S')) && word.substr(0, word.size() - 1).ends_with(apostrophe))
              word.remove_suffix(apostrophe.size() + 1);
          std::string term = to_lower(word);
          if (!std::ranges::binary_search(stop_words, std::string_view(term)))
            terms.push_back(PorterStemmer::stem(std::move(term)));
        }
        return terms;
      }};
}

/// The analyzer of this name. Throws std::invalid_argument that lists the names and the nearest one.
inline Analyzer analyzer(std::string_view name) {
  if (name == "simple") return simple_analyzer();
  if (name == "english-lucene") return english_lucene_analyzer();
  constexpr std::string_view names[] = {"simple", "english-lucene"};
  bad_option("analyzer", name, "simple, english-lucene (did you mean '" + nearest(name, names) + "'?)");
}

}  // namespace espalier::backend
