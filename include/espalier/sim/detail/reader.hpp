#pragma once

#include <espalier/sim/detail/request.hpp>
#include <espalier/sim/detail/words.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim::detail {

/// The text with which the model says that it does not know. It is never taken for a value.
inline constexpr std::string_view not_known = "I don't know";

/// True if a model with this seed and rate knows a fact from memory. This does not depend on the request.
inline bool recalls(std::uint64_t seed, double rate, const Fact& fact) {
  return static_cast<double>(Hasher().add(fact.identity).add(seed).finish().low >> 11) * 0x1p-53 < rate;
}

/// True if a text asks a question. All words must match, except words like "who" that a query leaves out.
inline bool asks_for(std::vector<Word> text, std::vector<Word> question) {
  std::erase_if(text, asks);
  std::erase_if(question, asks);
  return same_question(text, question);
}

/// The answer to a fact as the documents from number `first` on show it, or null. A fact of several passages needs all
/// of them. A yes or no follows from its passages and stands in none.
inline const std::string* shown(const Fact& fact, const View& view, std::size_t first = 0) {
  const auto documents = std::span(view.documents).subspan(first);
  const auto& titles = fact.titles;
  const auto titled = [](const auto& document, const auto& title) { return contains(document, title, 4); };
  const bool complete = std::all_of(titles.begin(), titles.end(), [&](const auto& title) {
    return std::any_of(documents.begin(), documents.end(), [&](const auto& d) { return titled(d, title); });
  });
  if (fact.verdict) return complete && !titles.empty() ? &fact.answers.front() : nullptr;
  if (!complete && titles.size() > 1) return nullptr;
  for (const auto& d : documents) {
    const bool about = std::any_of(titles.begin(), titles.end(), [&](const auto& title) { return titled(d, title); });
    if (!about && !contains(d, fact.subject)) continue;
    for (std::size_t a = 0; a < fact.answers.size(); ++a)
      if (contains(d, fact.written[a])) return &fact.answers[a];
  }
  return nullptr;
}

/// What the model believes along one chain: values of some steps, found in the prompt or set by the model. It looks at
/// gold only to tell if a fact can be read or recalled, and to conclude a comparison whose steps are all right.
class Reader {
 public:
  struct Belief {
    std::string text;
    bool right;
    bool said;  ///< stands in the prompt as an answer or a thought, so it need not be said again
  };

  /// `recall`: the share of facts that it knows from memory.
  Reader(const Request& request, const Chain& chain, double recall)
      : r_(request), chain_(chain), recall_(recall), values_(chain.steps.size()) {
    if (steps() < 2) return;
    for (const auto& asked : r_.view.sub_questions)
      if (asked.content == chain_.content && known(asked.answer))
        whole_ = std::string(View::value_in(*asked.answer, statement(chain_.question)));
  }

  [[nodiscard]] std::size_t steps() const { return values_.size(); }
  [[nodiscard]] const std::optional<Belief>& value(std::size_t k) const { return values_[k]; }
  [[nodiscard]] bool ready(std::size_t k) const {
    const auto& needs = chain_.steps[k].needs;
    return std::all_of(needs.begin(), needs.end(), [&](std::size_t n) { return values_[n].has_value(); });
  }
  /// The step's question with the believed entities. Only if ready(k).
  [[nodiscard]] std::string question(std::size_t k) const {
    return substitute(chain_.steps[k].wording, k, [&](std::size_t n) { return values_[n]->text; });
  }
  /// The step's question with the answers of the first `known` steps. Other answers are described by their questions.
  [[nodiscard]] std::string described(std::size_t k, std::size_t known) const {
    return substitute(chain_.steps[k].wording, k, [&](std::size_t n) {
      if (n < known && values_[n]) return values_[n]->text;
      const std::string earlier = described(n, known);
      const StepQuestion asked(earlier);
      return asked.relation.empty() ? "the answer to \"" + std::string(asked.whole) + "\"" : "the " + asked.noun();
    });
  }
  void believe(std::size_t k, std::string text, bool said) {
    const bool right = grounded(k) && gold_fact(k).answered_by(text);
    values_[k] = Belief{std::move(text), right, said};
  }

  /// Looks for step k, if ready(k): in own answers, thoughts, what later sub-questions assume, and then documents.
  bool see(std::size_t k) {
    const std::string asked = question(k);
    const auto key = content(asked);
    const std::string opening = statement(asked);
    for (const auto& sub : r_.view.sub_questions)
      if (known(sub.answer) && same_question(sub.content, key) && (steps() == 1 || sub.content != chain_.content))
        return believe(k, std::string(View::value_in(*sub.answer, opening)), true), true;
    if (const auto said = r_.view.stated(opening)) return believe(k, std::string(*said), true), true;
    for (const auto& query : r_.view.answered)
      if (known(query.answer) && asks_for(query.content, key) && (steps() == 1 || query.content != chain_.content))
        return believe(k, std::string(View::value_in(*query.answer, opening)), true), true;
    for (std::size_t later = k + 1; later < steps(); ++later)
      if (const auto& needs = chain_.steps[later].needs; std::find(needs.begin(), needs.end(), k) != needs.end())
        for (const auto& sub : r_.view.sub_questions)
          if (same_question(sub.content, gold_fact(later).question))
            return believe(k, gold_fact(k).answers.front(), true), true;
    if (const Fact* fact = fact_of(k, key)) {
      const std::string* found = shown(*fact, r_.view);
      if (found && r_.draws.succeeds("read", r_.skills.read, fact->identity)) return believe(k, *found, false), true;
    }
    return false;
  }
  /// Takes step k from memory, if the fact is known. Only if ready(k).
  bool recall(std::size_t k) {
    const Fact* fact = fact_of(k, content(question(k)));
    if (!fact || !recalls(r_.skills.seed, recall_, *fact)) return false;
    return believe(k, fact->answers.front(), false), true;
  }
  /// Sets an invented value for step k: the answer to another question of its kind.
  void invent(std::size_t k) {
    const Fact& fact = gold_fact(k);
    believe(k, invented(fact.relation, fact.answers.front(), r_.draws.pick("invent", k), fact.verdict, &fact), false);
  }
  /// Follows the whole chain from the prompt alone, or from the prompt and memory.
  void look(bool by_heart) {
    for (std::size_t k = 0; k < steps(); ++k)
      if (ready(k) && !see(k) && by_heart) recall(k);
  }

  /// The answer that follows from the values, if there are enough.
  [[nodiscard]] std::optional<std::string> answer() const {
    if (whole_) return whole_;
    if (chain_.last_step_answers) return values_.back() ? std::optional(values_.back()->text) : std::nullopt;
    bool right = true;
    for (const auto& v : values_) {
      if (!v) return std::nullopt;
      right = right && v->right;
    }
    return right ? chain_.gold.front() : guess();
  }
  /// One of the things compared, or a plausible wrong answer.
  [[nodiscard]] std::string guess() const {
    const std::uint64_t draw = r_.draws.pick("guess");
    if (!chain_.options.empty()) return chain_.options[draw % chain_.options.size()];
    const std::uint64_t relation = chain_.last_step_answers ? gold_fact(steps() - 1).relation : chain_.relation;
    return invented(relation, chain_.gold.front(), draw, false, nullptr);
  }
  /// The step that a text asks for, with earlier answers or descriptions of them. Most matching words win, then the
  /// fewest extra words, then the first step. steps() if there is none, or if the text is the whole question.
  [[nodiscard]] std::size_t step_of(std::string_view text) const {
    const auto key = content(text);
    std::size_t best = steps(), most = 0;
    for (std::size_t k = 0; k < steps() && (steps() == 1 || key != chain_.content); ++k)
      for (std::size_t known = 0; known <= k; ++known) {
        const auto asked = content(described(k, known));
        const auto named = asked.size() - static_cast<std::size_t>(std::count_if(asked.begin(), asked.end(), asks));
        const std::size_t fit = 2 * named + (asked == key);
        if (fit <= most || !asks_for(key, asked)) continue;
        best = k;
        most = fit;
      }
    return best;
  }
  /// How often the history asks for this step.
  [[nodiscard]] std::size_t asked(std::size_t k) const {
    const auto key = content(question(k));
    return static_cast<std::size_t>(std::count_if(r_.view.sub_questions.begin(), r_.view.sub_questions.end(),
                                                  [&](const auto& sub) { return same_question(sub.content, key); }));
  }
  /// The number of searches made for this step or for the whole question.
  [[nodiscard]] std::size_t searches(std::size_t k) const {
    const auto key = content(question(k));
    return static_cast<std::size_t>(std::ranges::count_if(r_.view.queries, [&](const std::vector<Word>& q) {
      return q == chain_.content || (!q.empty() && std::includes(key.begin(), key.end(), q.begin(), q.end()));
    }));
  }

 private:
  static bool known(const std::optional<std::string_view>& answer) {
    return answer && !answer->empty() && answer->substr(0, not_known.size()) != not_known;
  }
  [[nodiscard]] const Fact& gold_fact(std::size_t k) const { return r_.knowledge.fact(chain_.steps[k].fact); }
  /// True if step k asks about the right entities.
  [[nodiscard]] bool grounded(std::size_t k) const {
    const auto& needs = chain_.steps[k].needs;
    return std::all_of(needs.begin(), needs.end(), [&](std::size_t n) { return values_[n] && values_[n]->right; });
  }
  [[nodiscard]] const Fact* fact_of(std::size_t k, const std::vector<Word>& key) const {
    return grounded(k) ? &gold_fact(k) : r_.knowledge.find(key);
  }
  [[nodiscard]] std::string invented(std::uint64_t relation, std::string_view like, std::uint64_t draw, bool verdict,
                                     const Fact* fact) const {
    if (verdict) return draw % 2 ? "yes" : "no";
    return r_.knowledge.wrong(relation, like, draw, [&](const std::string& text) {
      const auto said = words(text);
      return (fact && fact->answered_by(text)) || std::any_of(chain_.gold.begin(), chain_.gold.end(),
                                                              [&](const std::string& g) { return words(g) == said; });
    });
  }

  const Request& r_;
  const Chain& chain_;
  double recall_;
  std::vector<std::optional<Belief>> values_;
  std::optional<std::string> whole_;
};

}  // namespace espalier::sim::detail
