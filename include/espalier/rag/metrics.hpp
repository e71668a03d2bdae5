#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/nearest.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::rag {

/// A paper's or toolkit's way to score an answer. `common` is for comparing methods with each other. It is HotpotQA's
/// profile: the form that most share, EM by equality, F1 0 for a wrong yes or no, and the best over all gold.
enum class Profile : std::uint8_t {
  squad2,
  hotpot,
  musique,
  flashrag,
  search_r1,
  prorag,
  reasonrag,
  hiprag,
  search_o1,
  decouple,
  common = hotpot
};

/// Scores of an answer, each in [0, 1]. For a data set: the mean over all its questions.
struct Scores {
  double em = 0;         ///< exact match, or what the profile calls so
  double f1 = 0;         ///< of word multisets
  double precision = 0;  ///< for the gold answer with the best F1, unless the profile has separate maxima
  double recall = 0;
  double acc = 0;  ///< the prediction contains a gold answer: subEM, cover-EM, CEM
};

namespace detail {

/// How a profile scores. EM compares normal forms. Acc looks for the gold's normal form in that of the prediction (also
/// called subEM, cover-EM or CEM). F1 compares the words of the form for F1, split at blanks.
struct MetricRules {
  std::string_view name;
  std::string (*form)(std::string_view);
  std::string (*f1_form)(std::string_view);
  bool em_is_acc = false;        ///< what it calls EM is the substring test
  bool yes_no = false;           ///< F1 is 0 if either side is yes, no or noanswer and the two differ
  bool empty_matches = false;    ///< F1 of two empty texts is 1
  bool first_gold = false;       ///< uses only the first gold answer
  bool overlap_only = false;     ///< a gold answer without a common word counts for nothing, even for EM and Acc
  bool separate_maxima = false;  ///< F1, precision and recall are each the maximum over the gold answers
};

/// ReasonRAG: the common form, but articles stay.
inline std::string reasonrag_form(std::string_view text) {
  return join_blanks(delete_punctuation(espalier::detail::to_lower(text)));
}

/// HiPRAG: articles are deleted first, then each punctuation mark becomes a blank.
inline std::string hiprag_form(std::string_view text) {
  std::string out = replace_words(espalier::detail::to_lower(text), {"a", "an", "the"}, " ");
  for (char& c : out)
    if (is_punctuation(c)) c = ' ';
  return join_blanks(out);
}

/// DecoupleSearch. The text is cut at the first line end, full stop or comma. Only what follows the last "answer is" is
/// kept. All characters but word characters and blanks are deleted, and so are the words "an" and "the", but not "a".
inline std::string decouple_form(std::string_view text) {
  const std::string lower = espalier::detail::to_lower(strip(text));
  std::string_view cut = std::string_view(lower).substr(0, lower.find_first_of("\n.,"));
  constexpr std::string_view marker = "answer is";
  if (const auto at = cut.rfind(marker); at != cut.npos) cut.remove_prefix(at + marker.size());
  std::string kept;
  for (std::size_t i = 0; i < cut.size();) {
    const char32_t c = espalier::detail::decode_utf8(cut, i);
    if (espalier::detail::is_word(c) || espalier::detail::is_space(c)) espalier::detail::append_utf8(kept, c);
  }
  return join_blanks(replace_words(kept, {"an", "the"}, ""));
}

/// DecoupleSearch computes F1 on the common form of its own form.
inline std::string decouple_f1_form(std::string_view text) { return normalise(decouple_form(text)); }

/// In the order of Profile. Search-R1 and HiPRAG publish no F1, so they use the common rules.
inline constexpr std::array<MetricRules, 10> metric_rules{{
    {.name = "squad2", .form = normalise, .f1_form = normalise, .empty_matches = true},
    {.name = "hotpot", .form = normalise, .f1_form = normalise, .yes_no = true},
    {.name = "musique", .form = normalise, .f1_form = normalise, .empty_matches = true},
    {.name = "flashrag", .form = normalise, .f1_form = normalise, .yes_no = true, .separate_maxima = true},
    {.name = "search_r1", .form = normalise, .f1_form = normalise, .yes_no = true},
    {.name = "prorag", .form = as_it_stands, .f1_form = as_it_stands, .first_gold = true},
    {.name = "reasonrag", .form = reasonrag_form, .f1_form = reasonrag_form, .yes_no = true},
    {.name = "hiprag", .form = hiprag_form, .f1_form = hiprag_form, .em_is_acc = true, .yes_no = true},
    {.name = "search_o1", .form = normalise, .f1_form = normalise, .overlap_only = true},
    {.name = "decouple", .form = decouple_form, .f1_form = decouple_f1_form, .em_is_acc = true},
}};

constexpr const MetricRules& rules_of(Profile profile) { return metric_rules[static_cast<std::size_t>(profile)]; }

inline std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const MetricRules& rules : metric_rules) names.emplace_back(rules.name);
  return names;
}

/// F1, precision and recall between two normal forms.
inline Scores word_overlap(const MetricRules& rules, std::string_view prediction, std::string_view gold) {
  const auto fixed = [](std::string_view s) { return s == "yes" || s == "no" || s == "noanswer"; };
  if (rules.yes_no && prediction != gold && (fixed(prediction) || fixed(gold))) return {};
  std::vector<std::string_view> p = split(prediction), g = split(gold);
  if (p.empty() && g.empty() && rules.empty_matches) return {.f1 = 1, .precision = 1, .recall = 1};

  std::sort(p.begin(), p.end());
  std::sort(g.begin(), g.end());
  std::vector<std::string_view> shared;
  std::set_intersection(p.begin(), p.end(), g.begin(), g.end(), std::back_inserter(shared));
  if (shared.empty()) return {};
  const double same = static_cast<double>(shared.size());
  const double precision = same / static_cast<double>(p.size()), recall = same / static_cast<double>(g.size());
  return {.f1 = 2 * precision * recall / (precision + recall), .precision = precision, .recall = recall};
}

}  // namespace detail

/// The profile with this name. Throws std::invalid_argument that lists all names and the nearest one.
inline Profile profile(std::string_view name) {
  if (name == "common") return Profile::common;
  std::vector<std::string> names = detail::profile_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Profile>(found - names.begin());
  std::string all;
  for (const std::string& one : names) all += one + ", ";
  names.emplace_back("common");
  bad_option("metrics", name, all + "common" + espalier::detail::did_you_mean(name, names));
}

/// Scores a prediction against the best of the gold answers. A null prediction (a failure, no answer) scores 0
/// everywhere. A text whose normal form is empty is compared as it stands, and as gold it is contained in its equal
/// alone. Throws std::invalid_argument if there is no gold answer.
inline Scores score(Profile profile, const std::optional<std::string>& prediction, const Gold& gold) {
  if (gold.empty()) throw std::invalid_argument("an answer cannot be scored against an empty list of gold answers");
  if (!prediction) return {};
  const detail::MetricRules& rules = detail::rules_of(profile);
  const std::string own = rules.form(*prediction), own_words = detail::form_or_text(*prediction, rules.f1_form),
                    text = detail::as_it_stands(*prediction);
  Scores best;
  for (const std::string& answer : gold) {
    const Scores words = detail::word_overlap(rules, own_words, detail::form_or_text(answer, rules.f1_form));
    if (!rules.overlap_only || words.f1 > 0) {
      const std::string form = rules.form(answer);
      const bool empty = form.empty();
      const double same = empty ? text == detail::as_it_stands(answer) : own == form;
      const double contained = empty ? same != 0 && !text.empty() : own.find(form) != own.npos;
      best.acc = std::max(best.acc, contained);
      best.em = std::max(best.em, rules.em_is_acc ? contained : same);
    }
    if (rules.separate_maxima) {
      best.precision = std::max(best.precision, words.precision);
      best.recall = std::max(best.recall, words.recall);
    } else if (words.f1 > best.f1) {
      best.precision = words.precision;
      best.recall = words.recall;
    }
    best.f1 = std::max(best.f1, words.f1);
    if (rules.first_gold) break;
  }
  return best;
}

}  // namespace espalier::rag
