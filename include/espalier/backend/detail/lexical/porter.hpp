#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::backend::detail {

struct PorterRule {
  std::string_view suffix, by = {};
  bool by_counts = false;  ///< the replacement belongs to the measured part
};
// Longer suffixes come before their own endings.
inline constexpr PorterRule porter_step_2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
    {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
    {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
    {"logi", "log"}};
inline constexpr PorterRule porter_step_3[] = {{"icate", "ic"}, {"ative"}, {"alize", "al"}, {"iciti", "ic"},
                                               {"ical", "ic"},  {"ful"},   {"ness"}};
inline constexpr PorterRule porter_step_4[] = {
    {"al", ""},  {"ance", ""},  {"ence", ""}, {"er", ""},  {"ic", ""},          {"able", ""},        {"ible", ""},
    {"ant", ""}, {"ement", ""}, {"ment", ""}, {"ent", ""}, {"sion", "s", true}, {"tion", "t", true}, {"ou", ""},
    {"ism", ""}, {"ate", ""},   {"iti", ""},  {"ous", ""}, {"ive", ""},         {"ize", ""}};

/// Porter's suffix stripping (Program 14, 1980) with the author's two later changes, as in Lucene: bli becomes ble and
/// logi becomes log in step 2, and words of one or two letters stay. Takes lower-case words. Everything but ASCII
/// letters counts as a consonant.
class PorterStemmer {
 public:
  [[nodiscard]] static std::string stem(std::string word) {
    if (letters(word) <= 2) return word;
    PorterStemmer s(std::move(word));
    s.plurals();
    s.past_and_progressive();
    if (s.ends("y") && s.vowel_before(1)) s.word_.back() = 'i';
    s.replace_first(0, porter_step_2);
    s.replace_first(0, porter_step_3);
    s.replace_first(1, porter_step_4);
    s.final_letters();
    return std::move(s.word_);
  }

 private:
  explicit PorterStemmer(std::string word) : word_(std::move(word)) {}

  static std::size_t letters(std::string_view word) {
    return std::size_t(std::ranges::count_if(word, [](unsigned char c) { return (c & 0xC0) != 0x80; }));
  }
  [[nodiscard]] bool consonant(std::size_t i) const {
    if (word_[i] == 'y') return i == 0 || !consonant(i - 1);
    return std::string_view("aeiou").find(word_[i]) == std::string_view::npos;
  }
  /// m: how often a vowel is followed by a consonant in the first n letters.
  [[nodiscard]] std::size_t measure(std::size_t n) const {
    std::size_t m = 0;
    for (std::size_t i = 1; i < n; ++i) m += consonant(i) && !consonant(i - 1);
    return m;
  }
  [[nodiscard]] bool ends(std::string_view suffix) const { return std::string_view(word_).ends_with(suffix); }
  /// *v*: there is a vowel before the last n letters.
  [[nodiscard]] bool vowel_before(std::size_t n) const {
    for (std::size_t i = 0; i + n < word_.size(); ++i)
      if (!consonant(i)) return true;
    return false;
  }
  /// *d: the word ends in a double consonant.
  [[nodiscard]] bool doubled() const {
    const std::size_t n = word_.size();
    const bool ascii = static_cast<unsigned char>(word_.back()) < 0x80;
    return n >= 2 && ascii && word_[n - 1] == word_[n - 2] && consonant(n - 1);
  }
  /// *o: the first n letters end in consonant, vowel, consonant, and the last one is not w, x or y.
  [[nodiscard]] bool short_end(std::size_t n) const {
    return n >= 3 && consonant(n - 3) && !consonant(n - 2) && consonant(n - 1) &&
           std::string_view("wxy").find(word_[n - 1]) == std::string_view::npos;
  }
  void drop(std::size_t n) { word_.resize(word_.size() - n); }

  /// Takes the first listed suffix of the word. Replaces it if the part before it has a measure above m.
  void replace_first(std::size_t m, std::span<const PorterRule> rules) {
    for (const PorterRule& rule : rules) {
      if (!ends(rule.suffix)) continue;
      if (measure(word_.size() - rule.suffix.size() + (rule.by_counts ? rule.by.size() : 0)) > m) {
        drop(rule.suffix.size());
        word_ += rule.by;
      }
      return;
    }
  }

  void plurals() {
    if (ends("sses") || ends("ies")) drop(2);
    else if (ends("s") && !ends("ss")) drop(1);
  }

  void past_and_progressive() {
    if (ends("eed")) {
      if (measure(word_.size() - 3) > 0) drop(1);
      return;
    }
    const std::size_t suffix = ends("ed") ? 2 : ends("ing") ? 3 : 0;
    if (suffix == 0 || !vowel_before(suffix)) return;
    drop(suffix);
    if (ends("at") || ends("bl") || ends("iz")) word_ += 'e';
    else if (doubled() && !ends("l") && !ends("s") && !ends("z")) drop(1);
    else if (measure(word_.size()) == 1 && short_end(word_.size())) word_ += 'e';
  }

  void final_letters() {
    if (ends("e")) {
      const std::size_t rest = word_.size() - 1, m = measure(rest);
      if (m > 1 || (m == 1 && !short_end(rest))) drop(1);
    }
    if (ends("ll") && measure(word_.size()) > 1) drop(1);
  }

  std::string word_;
};

}  // namespace espalier::backend::detail
