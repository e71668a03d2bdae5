#pragma once

#include <espalier/sim/detail/words.hpp>
#include <espalier/sim/skills.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// A step question such as "Sam Elliott >> spouse" or "who played the major", split at its mark.
struct Asked {
  explicit Asked(std::string_view text) : whole(text) {
    if (const std::size_t mark = text.find(" >> "); mark != std::string_view::npos) {
      subject = text.substr(0, mark);
      relation = text.substr(mark + 4);
    }
    while (!whole.empty() && (whole.back() == '?' || whole.back() == '.' || whole.back() == ' '))
      whole.remove_suffix(1);
  }
  /// "spouse of Sam Elliott". Only with a mark.
  [[nodiscard]] std::string noun() const {
    return std::string(relation) + (relation.ends_with(" of") ? " " : " of ") + std::string(subject);
  }
  std::string_view whole, subject, relation;  ///< the last two are empty without a mark
};

/// The step question as a sentence. Every wording has the same content words.
inline std::string ask(std::string_view step, const Draws& draws) {
  const Asked asked(step);
  const std::string question(asked.whole), subject(asked.subject), relation(asked.relation), noun = asked.noun();
  const std::array<std::string, 5> whole = {question + "?", "Tell me: " + question + "?",
                                            "I need to know: " + question + "?",
                                            "Please answer this: " + question + "?", question + ", please?"};
  const std::array<std::string, 5> split = {
      "What is the " + noun + "?", "Tell me the " + noun + ".", subject + ": what is its " + relation + "?",
      "What is " + subject + "'s " + relation + "?", "I need to know the " + noun + "."};
  return (relation.empty() ? whole : split)[draws.wording("ask", 5)];
}

/// The beginning of the sentence that states the answer to a step question. The value and a full stop end the line.
inline std::string statement(std::string_view step) {
  const Asked asked(step);
  if (asked.relation.empty()) return "The answer to \"" + std::string(asked.whole) + "\" is ";
  return "The " + asked.noun() + " is ";
}

/// The sentence that says that a step must be looked up.
inline std::string need(std::string_view step) {
  const Asked asked(step);
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
    return std::string(Asked(question).whole);
  } else if (form == 2) {
    std::stable_partition(all.begin(), all.end(), is_name);
  }
  std::string text;
  for (std::string_view w : all) (text += text.empty() ? "" : " ") += w;
  return text.empty() ? std::string(question) : text;
}

}  // namespace espalier::sim::detail
