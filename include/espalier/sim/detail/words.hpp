#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/sim/skills.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// A case-folded word of a text, as a hash.
using Word = std::uint64_t;

/// Calls visit(word, raw) for every run of letters and digits, where raw is the run as written. Letters beyond ASCII
/// count as letters, and those of Latin-1 are folded. General punctuation and no-break spaces separate runs.
template <class Visit>
constexpr void each_word(std::string_view text, Visit&& visit) {
  constexpr std::uint64_t empty = 0xcbf29ce484222325ULL;
  std::uint64_t hash = empty;
  std::size_t begin = 0;
  const auto flush = [&](std::size_t end) {
    if (end > begin) visit(Word(hash), text.substr(begin, end - begin));
    hash = empty;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    std::size_t skip = 0;
    if (c < 0x80) {
      if (c >= 'A' && c <= 'Z') c = static_cast<unsigned char>(c + 32);
      else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) skip = 1;
    } else if (c == 0xC2) {
      skip = 2;
    } else if (c == 0xE2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xFE) == 0x80) {
      skip = 3;
    } else if (i > begin && static_cast<unsigned char>(text[i - 1]) == 0xC3 && c <= 0x9E && c != 0x97) {
      c = static_cast<unsigned char>(c + 32);
    }
    if (skip == 0) {
      hash = (hash ^ c) * 0x100000001b3ULL;
    } else {
      flush(i);
      i += skip - 1;
      begin = i + 1;
    }
  }
  flush(text.size());
}

/// The hash of one lower-case word.
constexpr Word word_of(std::string_view text) {
  Word word = 0;
  each_word(text, [&](Word w, std::string_view) { word = w; });
  return word;
}

inline constexpr std::array<Word, 5> asking_words = {word_of("who"), word_of("when"), word_of("where"), word_of("how"),
                                                     word_of("why")};
constexpr bool asks(Word word) { return std::ranges::find(asking_words, word) != asking_words.end(); }

/// Words without a meaning of their own, including all that a wording of a question may add.
constexpr bool is_function_word(Word word) {
  constexpr auto table = [] {
    std::array<Word, 46> sorted{};
    Word* next = sorted.data();
    each_word(
        "a an the of in on at to for by from with and or is are was were be been do does did has have had what which "
        "whom whose that this it its i me my you tell please answer need know s as st",
        [&](Word w, std::string_view) { *next++ = w; });
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }();
  return std::binary_search(table.begin(), table.end(), word);
}

inline std::vector<Word> words(std::string_view text) {
  std::vector<Word> found;
  each_word(text, [&](Word w, std::string_view) { found.push_back(w); });
  return found;
}

/// The set of words that carry meaning, sorted.
inline std::vector<Word> content(std::string_view text) {
  std::vector<Word> found;
  each_word(text, [&](Word w, std::string_view) {
    if (!is_function_word(w)) found.push_back(w);
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// True if a word is written as a name or number: it begins with a capital, a digit or a character beyond ASCII.
constexpr bool is_name(std::string_view raw) { return !(raw[0] >= 'a' && raw[0] <= 'z'); }

/// A hash of what a question asks for, without its names. It is equal for all questions of one relation.
inline std::uint64_t relation_key(std::string_view question) {
  if (const std::size_t mark = question.find(" >> "); mark != std::string_view::npos) question.remove_prefix(mark + 4);
  std::uint64_t key = 0;
  each_word(question, [&](Word w, std::string_view raw) {
    if (asks(w) || (!is_function_word(w) && !is_name(raw))) key += espalier::detail::mix64(w);
  });
  return key;
}

inline std::uint64_t sequence_key(std::string_view text) {
  std::uint64_t key = 0;
  each_word(text, [&](Word w, std::string_view) { key = espalier::detail::mix64(key ^ w); });
  return key;
}

/// True if `part` occurs in `text` as a run of words that starts at or before word `latest`. False for an empty part.
inline bool contains(std::span<const Word> text, std::span<const Word> part, std::size_t latest = SIZE_MAX) {
  if (part.empty() || part.size() > text.size()) return false;
  const std::size_t last = std::min(latest, text.size() - part.size());
  for (std::size_t i = 0; i <= last; ++i)
    if (text[i] == part[0] && std::ranges::equal(part, text.subspan(i, part.size()))) return true;
  return false;
}

/// True if a text with these content words asks `question`: it has all its words and at most a quarter more.
inline bool same_question(std::span<const Word> text, std::span<const Word> question) {
  return !question.empty() && text.size() >= question.size() &&
         (text.size() - question.size()) * 4 <= question.size() &&
         std::includes(text.begin(), text.end(), question.begin(), question.end());
}

/// A step question such as "Sam Elliott >> spouse" or "who played the major", split at its mark.
struct StepQuestion {
  explicit StepQuestion(std::string_view text) : whole(text) {
    if (const std::size_t mark = text.find(" >> "); mark != std::string_view::npos) {
      subject = text.substr(0, mark);
      relation = text.substr(mark + 4);
    }
    while (whole.ends_with('?') || whole.ends_with('.') || whole.ends_with(' ')) whole.remove_suffix(1);
  }
  /// "spouse of Sam Elliott". Only with a mark.
  [[nodiscard]] std::string noun() const {
    return std::string(relation) + (relation.ends_with(" of") ? " " : " of ") + std::string(subject);
  }
  std::string_view whole, subject, relation;  ///< the last two are empty without a mark
};

/// The step question as a sentence. Every wording has the same content words.
inline std::string ask(std::string_view step, const Draws& draws) {
  const StepQuestion asked(step);
  const std::size_t wording = draws.wording("ask", 5);
  if (asked.relation.empty()) {
    const std::string question(asked.whole);
    return std::array{question + "?", "Tell me: " + question + "?", "I need to know: " + question + "?",
                      "Please answer this: " + question + "?", question + ", please?"}[wording];
  }
  const std::string subject(asked.subject), relation(asked.relation), noun = asked.noun();
  return std::array{"What is the " + noun + "?", "Tell me the " + noun + ".",
                    subject + ": what is its " + relation + "?", "What is " + subject + "'s " + relation + "?",
                    "I need to know the " + noun + "."}[wording];
}

/// The beginning of the sentence that states the answer to a step question. The value and a full stop end the line.
inline std::string statement(std::string_view step) {
  const StepQuestion asked(step);
  if (asked.relation.empty()) return "The answer to \"" + std::string(asked.whole) + "\" is ";
  return "The " + asked.noun() + " is ";
}

/// The sentence that says that a step must be looked up.
inline std::string need(std::string_view step) {
  const StepQuestion asked(step);
  return asked.relation.empty() ? "I need to know: " + std::string(asked.whole) + "?"
                                : "I need to know the " + asked.noun() + ".";
}

/// A query for a question. A good one keeps every content word, a bad one keeps only words that are not names.
inline std::string query(std::string_view question, bool good, const Draws& draws) {
  std::vector<std::string_view> all, plain;
  each_word(question, [&](Word w, std::string_view raw) {
    if (is_function_word(w) || asks(w)) return;
    all.push_back(raw);
    if (!is_name(raw)) plain.push_back(raw);
  });
  if (!good) {
    all.resize(plain.empty() || plain.size() == all.size() ? (all.size() + 1) / 2 : all.size());
    if (!plain.empty() && plain.size() < all.size()) all = plain;
  } else if (const std::size_t form = draws.wording("query", 3); form == 1) {
    return std::string(StepQuestion(question).whole);
  } else if (form == 2) {
    std::stable_partition(all.begin(), all.end(), is_name);
  }
  std::string text;
  for (std::string_view w : all) (text += text.empty() ? "" : " ") += w;
  return text.empty() ? std::string(question) : text;
}

}  // namespace espalier::sim::detail
