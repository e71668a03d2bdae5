#pragma once

#include <espalier/rag/metric_profile.hpp>
#include <espalier/rag/question.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::rag {

/// Scores of an answer, each in [0, 1]. For a data set: the mean over all its questions.
struct Scores {
  double em = 0;         ///< exact match, or what the profile calls so
  double f1 = 0;         ///< of word multisets
  double precision = 0;  ///< for the gold answer with the best F1, unless the profile has separate maxima
  double recall = 0;
  double acc = 0;  ///< the prediction contains a gold answer: subEM, cover-EM, CEM
};
/// Its parts for people.
inline std::array<std::pair<const char*, double>, 5> parts(const Scores& scores) {
  return {{{"em", scores.em},
           {"f1", scores.f1},
           {"precision", scores.precision},
           {"recall", scores.recall},
           {"acc", scores.acc}}};
}

namespace detail {

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

/// Scores a prediction against the best of the gold answers. A null prediction (a failure, no answer) scores 0
/// everywhere. A gold answer with an empty normal form is contained in every other prediction.
/// Throws std::invalid_argument if there is no gold answer.
inline Scores score(Profile profile, const std::optional<std::string>& prediction, const Gold& gold) {
  if (gold.empty()) throw std::invalid_argument("an answer cannot be scored against an empty list of gold answers");
  if (!prediction) return {};
  const detail::MetricRules& rules = detail::rules_of(profile);
  const std::string own = rules.form(*prediction), own_words = rules.f1_form(*prediction);
  Scores best;
  for (const std::string& answer : gold) {
    const Scores words = detail::word_overlap(rules, own_words, rules.f1_form(answer));
    if (!rules.overlap_only || words.f1 > 0) {
      const std::string form = rules.form(answer);
      const double contained = own.find(form) != own.npos;
      best.acc = std::max(best.acc, contained);
      best.em = std::max(best.em, rules.em_is_acc ? contained : double(own == form));
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
