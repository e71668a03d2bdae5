#pragma once

#include <espalier/llm/unicode.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The words and stems of Lucene's analyzer for English.
namespace espalier::backend::detail {

/// The classes of Unicode's word boundaries (Annex 29) that matter for words.
enum class WordClass { other, letter, digit, katakana, single, joiner, mark, mid_letter, mid_digit, mid };

inline WordClass word_class(char32_t c) {
  using enum WordClass;
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  const auto among = [c](std::u32string_view set) { return set.find(c) != set.npos; };
  if (c < 0x80 && espalier::detail::is_alnum(c)) return c <= '9' ? digit : letter;
  if (among(U"_\u203F\u2040\u2054\uFE33\uFE34\uFE4D\uFE4E\uFE4F\uFF3F")) return joiner;
  if (among(U".'\u2018\u2019\u2024\uFE52\uFF07\uFF0E")) return mid;
  if (among(U":\u00B7\u0387\u05F4\u2027\uFE13\uFE55\uFF1A")) return mid_letter;
  if (among(U",;\u037E\u0589\u060C\u060D\u066C\u07F8\u2044\uFE10\uFE14\uFE50\uFE54\uFF0C\uFF1B")) return mid_digit;
  if (in(0x3005, 0x3007) || in(0x3021, 0x3029) || in(0x3041, 0x309F) || in(0x3400, 0x4DBF) || in(0x4E00, 0x9FFF) ||
      in(0xF900, 0xFAFF) || in(0x20000, 0x3FFFF))
    return single;
  if (in(0x30A1, 0x30FA) || in(0x30FC, 0x30FF) || in(0x31F0, 0x31FF) || in(0xFF66, 0xFF9D)) return katakana;
  const std::uint8_t flags = espalier::detail::unicode_flags_of(c);
  if (flags & espalier::detail::flag_decimal) return digit;
  if (flags & espalier::detail::flag_mark) return mark;
  return (flags & espalier::detail::flag_alnum) && !(flags & espalier::detail::flag_figure) ? letter : other;
}

/// The words of a text, close to Lucene's standard tokenizer. Letters and digits continue across _. Letters continue
/// across one of . ' : and digits across one of . ' , or a semicolon. Katakana continues with katakana. Ideographs and
/// hiragana are single words. A word has at most 255 code points, and the rest begins another word.
inline std::vector<std::string_view> standard_words(std::string_view text) {
  using enum WordClass;
  constexpr std::size_t longest = 255;
  std::vector<std::string_view> words;
  const auto alike = [](WordClass a, WordClass b) {
    const bool a_word = a == letter || a == digit, b_word = b == letter || b == digit;
    return (a_word && b_word) || (a == katakana && b == katakana) || (a == joiner && b != single) || b == joiner;
  };
  const auto core = [](WordClass c) { return c == letter || c == digit || c == katakana || c == joiner; };

  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    WordClass last = word_class(espalier::detail::decode_utf8(text, i));
    if (!core(last) && last != single) continue;
    bool word = last != joiner;  // underscores alone are not a word
    std::size_t end = i;
    for (std::size_t length = 1; i < text.size() && length < longest; ++length) {
      const WordClass next = word_class(espalier::detail::decode_utf8(text, i));
      if (next == mark) {
        end = i;
      } else if (last != single && core(next) && alike(last, next)) {
        word = word || next != joiner;
        last = next;
        end = i;
      } else if (next == mid || (next == mid_letter && last == letter) || (next == mid_digit && last == digit)) {
        std::size_t behind = i;  // joins only if more of the same kind follows
        WordClass after = other;
        do after = behind < text.size() ? word_class(espalier::detail::decode_utf8(text, behind)) : other;
        while (after == mark);
        if ((last != letter && last != digit) || after != last) break;
        end = i = behind;
        ++length;
      } else {
        break;
      }
    }
    if (word) words.push_back(text.substr(begin, end - begin));
    i = end;
  }
  return words;
}

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
/// logi becomes log in step 2, and words of one or two letters stay. Takes lower case. All beyond ASCII is a consonant.
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
