#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/nearest.hpp>
#include <espalier/rag/text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::rag {

/// Whose way of scoring an answer. `common`, for comparing methods with one another, is HotpotQA's: the normal form
/// that most share, equality for EM, zero F1 for a wrong yes or no, no F1 between empty texts, the best of all golds.
enum class Profile : std::uint8_t {
  squad2, hotpot, musique, flashrag, search_r1, prorag, reasonrag, hiprag, search_o1, decouple, common = hotpot
};

/// How a profile scores. EM compares normal forms, Acc looks for the gold's normal form inside the prediction's (known
/// as subEM, cover-EM or CEM), F1 counts the blank-separated words of the form for F1.
struct MetricRules {
  std::string_view name;
  std::string (*form)(std::string_view);
  std::string (*f1_form)(std::string_view);
  bool em_is_acc = false;        ///< what it calls EM is the substring test
  bool yes_no = false;           ///< F1 is 0 if either side is yes, no or noanswer and the other is not the same
  bool empty_matches = false;    ///< F1 of two empty texts is 1
  bool first_gold = false;       ///< knows one gold answer: the main one
  bool overlap_only = false;     ///< a gold without a word in common counts for nothing, EM and Acc included
  bool separate_maxima = false;  ///< F1, precision and recall each take their own best gold
};

/// ProRAG: lower case without outer white space; articles and punctuation stay.
inline std::string prorag_form(std::string_view text) { return std::string(strip(to_lower(text))); }

/// ReasonRAG: the common form with the articles left in.
inline std::string reasonrag_form(std::string_view text) { return join_blanks(delete_punctuation(to_lower(text))); }

/// HiPRAG: the articles go first, then each punctuation mark becomes a blank.
inline std::string hiprag_form(std::string_view text) {
  std::string out = replace_words(to_lower(text), {"a", "an", "the"}, " ");
  for (char& c : out)
    if (is_punctuation(c)) c = ' ';
  return join_blanks(out);
}

/// DecoupleSearch: cut at the first line end, full stop or comma; what follows the last "answer is"; all but word
/// characters and blanks deleted; an and the deleted, a kept.
inline std::string decouple_form(std::string_view text) {
  const std::string lower = to_lower(strip(text));
  std::string_view cut = std::string_view(lower).substr(0, lower.find_first_of("\n.,"));
  constexpr std::string_view marker = "answer is";
  if (const auto at = cut.rfind(marker); at != cut.npos) cut.remove_prefix(at + marker.size());
  std::string kept;
  for (std::size_t i = 0; i < cut.size();) {
    const char32_t c = decode_utf8(cut, i);
    if (is_word(c) || is_space(c)) append_utf8(kept, c);
  }
  return join_blanks(replace_words(kept, {"an", "the"}, ""));
}

/// DecoupleSearch counts F1 in the common form of its own form.
inline std::string decouple_f1_form(std::string_view text) { return normalise(decouple_form(text)); }

/// By the order of Profile. Search-R1 and HiPRAG publish no F1: the common rules stand in.
inline constexpr std::array<MetricRules, 10> metric_rules{{
    {.name = "squad2", .form = normalise, .f1_form = normalise, .empty_matches = true},
    {.name = "hotpot", .form = normalise, .f1_form = normalise, .yes_no = true},
    {.name = "musique", .form = normalise, .f1_form = normalise, .empty_matches = true},
    {.name = "flashrag", .form = normalise, .f1_form = normalise, .yes_no = true, .separate_maxima = true},
    {.name = "search_r1", .form = normalise, .f1_form = normalise, .yes_no = true},
    {.name = "prorag", .form = prorag_form, .f1_form = prorag_form, .first_gold = true},
    {.name = "reasonrag", .form = reasonrag_form, .f1_form = reasonrag_form},
    {.name = "hiprag", .form = hiprag_form, .f1_form = hiprag_form, .em_is_acc = true, .yes_no = true},
    {.name = "search_o1", .form = normalise, .f1_form = normalise, .overlap_only = true},
    {.name = "decouple", .form = decouple_form, .f1_form = decouple_f1_form, .em_is_acc = true},
}};

constexpr const MetricRules& rules_of(Profile profile) { return metric_rules[static_cast<std::size_t>(profile)]; }

/// The profile of this name. Throws std::invalid_argument that lists the names and the nearest one.
inline Profile profile(std::string_view name) {
  if (name == "common") return Profile::common;
  std::array<std::string_view, metric_rules.size() + 1> names{};
  std::string all;
  for (std::size_t i = 0; i < metric_rules.size(); ++i) {
    if (metric_rules[i].name == name) return static_cast<Profile>(i);
    names[i] = metric_rules[i].name;
    all += std::string(names[i]) + ", ";
  }
  names.back() = "common";
  bad_option("metrics", name, all + "common (did you mean '" + nearest(name, names) + "'?)");
}

}  // namespace espalier::rag
