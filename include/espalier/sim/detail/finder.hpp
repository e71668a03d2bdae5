#pragma once

#include <espalier/sim/detail/reader.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::sim::detail {

struct Finding {
  std::string asked{};                 ///< the question it answers, in the form for statement()
  std::optional<std::string> value{};  ///< nothing if the model says that it does not know
  bool sure = true;                    ///< read or recalled, not invented
  std::string thought{};

  /// The value, or the text that says it is not known.
  [[nodiscard]] std::string answer() const { return value.value_or(std::string(not_known)); }
  /// The same as a sentence that can stand alone.
  [[nodiscard]] std::string sentence() const {
    return value ? statement(asked) + *value + "." : std::string(not_known) + ": the documents do not say this.";
  }
};

/// States what was found for step k, if the prompt does not say it yet.
inline std::string news(const Reader& reader, std::size_t k) {
  const auto& belief = reader.value(k);
  return belief && !belief->said ? statement(reader.question(k)) + belief->text + ".\n" : std::string();
}

/// Looks for the answer to one question: in what the prompt shows, in memory, and sometimes by inventing it.
class Finder {
 public:
  explicit Finder(const Request& request) : r_(request) {}

  [[nodiscard]] Reader reader(const Chain& chain) const { return {r_, chain, r_.skills.recall}; }

  /// The best final answer: to the question, or to a sub-question from memory, or the most frequent of shown attempts.
  [[nodiscard]] Finding recollect() const {
    if (r_.view.has_history)
      if (auto value = favourite()) return {.value = std::move(value)};
    if (const Chain* chain = r_.chain) {
      Reader reader = this->reader(*chain);
      reader.look(true);
      Finding found;
      for (std::size_t k = 0; k < reader.steps(); ++k) found.thought += news(reader, k);
      found.value = reader.answer();
      if (!found.value) found.value = favourite();
      if (found.value) return found;
      if (!r_.view.has_history) return imagine(reader.guess());
      found.value = reader.guess();
      found.sure = false;
      return found;
    }
    if (auto value = favourite()) return {.value = std::move(value)};
    return from_fact(r_.knowledge.find(content(r_.question)), r_.question);
  }

  /// What can be said about an open question: a step, the whole question, or any known fact. Else the first new fact.
  [[nodiscard]] Finding settle(std::string_view asked) const {
    const Chain* chain = r_.chain;
    if (!chain) chain = r_.knowledge.chain(asked);
    if (!chain) return from_fact(r_.knowledge.find_for(asked), asked);
    Reader reader = this->reader(*chain);
    reader.look(true);
    const std::size_t step = reader.step_of(asked);
    if (step < reader.steps() && reader.ready(step)) {
      Finding found{.asked = reader.question(step)};
      found.sure = reader.value(step).has_value();
      if (!found.sure && r_.draws.happens("hallucinate", r_.skills.hallucinate, step)) reader.invent(step);
      if (const auto& belief = reader.value(step)) found.value = belief->text;
      return found;
    }
    if (step == reader.steps() && content(asked) != chain->content)
      if (const Fact* fact = r_.knowledge.find_for(asked)) return from_fact(fact, asked);
    if (auto answer = reader.answer()) return {.asked = chain->question, .value = std::move(answer)};
    for (std::size_t k = 0; k < reader.steps(); ++k)
      if (const auto& belief = reader.value(k); belief && !belief->said)
        return {.asked = reader.question(k), .value = belief->text};
    return {.sure = false};
  }

 private:
  /// The most frequent candidate, the first of equals.
  [[nodiscard]] std::optional<std::string> favourite() const {
    const auto& candidates = r_.view.candidates;
    std::optional<std::string> best;
    std::ptrdiff_t most = 0;
    for (std::string_view candidate : candidates) {
      if (candidate.empty() || candidate.starts_with(not_known)) continue;
      const auto said = words(candidate);
      const auto count = std::count_if(candidates.begin(), candidates.end(),
                                       [&](std::string_view other) { return words(other) == said; });
      if (count <= most) continue;
      most = count;
      best = std::string(candidate);
    }
    return best;
  }
  [[nodiscard]] Finding from_fact(const Fact* fact, std::string_view asked) const {
    const Draws& draws = r_.draws;
    if (!fact) {
      const auto key = content(asked);
      const bool number = std::binary_search(key.begin(), key.end(), word_of("when")) ||
                          std::binary_search(key.begin(), key.end(), word_of("how"));
      return imagine(r_.knowledge.wrong(relation_key(asked), number ? "1900" : "Name", draws.pick("invent"),
                                        [](const std::string&) { return false; }),
                     asked);
    }
    Finding found{.asked = fact->wording};
    const std::string* read = shown(*fact, r_.view);
    const bool reads = read && draws.succeeds("read", r_.skills.read, fact->identity);
    if (reads || recalls(r_.skills.seed, r_.skills.recall, *fact)) {
      found.value = reads ? *read : fact->answers.front();
      found.thought = found.sentence() + '\n';
      return found;
    }
    const std::uint64_t draw = draws.pick("invent");
    return imagine(fact->verdict ? std::string(draw % 2 ? "yes" : "no")
                                 : r_.knowledge.wrong(fact->relation, fact->answers.front(), draw,
                                                      [&](const std::string& text) { return fact->answered_by(text); }),
                   fact->wording);
  }
  [[nodiscard]] Finding imagine(std::string guess, std::string_view asked = {}) const {
    Finding found{.asked = std::string(asked), .sure = false};
    if (r_.draws.happens("hallucinate", r_.skills.hallucinate)) found.value = std::move(guess);
    return found;
  }

  const Request& r_;
};

}  // namespace espalier::sim::detail
