#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/detail/chain.hpp>
#include <espalier/sim/detail/words.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace espalier::sim::detail {

inline bool is_verdict(std::string_view answer) {
  const auto said = words(answer);
  return said.size() == 1 && (said[0] == word_of("yes") || said[0] == word_of("no"));
}

/// Everything that a simulated model could know. Built once, then read-only. Nothing is iterated in hash order.
class Knowledge {
 public:
  explicit Knowledge(std::span<const rag::Example> examples) {
    for (const rag::Example& example : examples)
      if (!example.chain.empty() || !example.gold.empty()) add(example);
    index();
  }

  [[nodiscard]] const Fact& fact(std::size_t i) const { return facts_[i]; }
  /// The chain of a question, or null.
  [[nodiscard]] const Chain* chain(std::string_view question) const {
    const auto it = by_question_.find(sequence_key(question));
    return it == by_question_.end() ? nullptr : &chains_[it->second];
  }
  /// The fact that a text with these content words asks for: the one with the most words, the first of equals, or null.
  [[nodiscard]] const Fact* find(std::span<const Word> text) const {
    const Fact* best = nullptr;
    for (Word w : text) {
      const auto it = by_word_.find(w);
      if (it == by_word_.end()) continue;
      for (std::size_t i : it->second) {
        const Fact* f = &facts_[i];
        if (!same_question(text, f->question)) continue;
        if (!best || f->question.size() > best->question.size() ||
            (f->question.size() == best->question.size() && f < best))
          best = f;
      }
    }
    return best;
  }
  /// The same for a query, which may lack one or two words like "who".
  [[nodiscard]] const Fact* find_for(std::string_view query) const {
    const auto said = content(query);
    const Fact* fact = find(said);
    for (std::size_t i = 0; !fact && i < asking_words.size(); ++i)
      for (std::size_t j = 0; !fact && j <= i; ++j) {
        auto whole = said;
        whole.insert(whole.end(), {asking_words[i], asking_words[j]});
        std::sort(whole.begin(), whole.end());
        whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
        fact = find(whole);
      }
    return fact;
  }
  /// A wrong answer: one to another question of the same relation, else one of the shape of `like`. None is right().
  [[nodiscard]] std::string wrong(std::uint64_t relation, std::string_view like, std::uint64_t draw,
                                  const auto& right) const {
    for (std::uint64_t key : {relation, shape(like)}) {
      const auto it = pools_.find(key);
      if (it == pools_.end()) continue;
      const auto& pool = it->second;
      for (std::size_t i = 0; i < std::min<std::size_t>(pool.size(), 64); ++i)
        if (const std::string& guess = pool[(draw + i) % pool.size()]; !right(guess)) return guess;
    }
    return "unknown";
  }

 private:
  /// The shape of an answer: numbers, dates, names and other phrases are drawn separately.
  static std::uint64_t shape(std::string_view answer) {
    if (answer.find_first_of("0123456789") != answer.npos) return answer.find(' ') == answer.npos ? 1 : 2;
    return !answer.empty() && is_name(answer) ? 3 : 4;
  }

  void add(const rag::Example& example) {
    Chain chain;
    chain.question = example.question.text;
    chain.content = content(chain.question);
    chain.relation = relation_key(chain.question);
    chain.gold = example.gold;
    std::vector<rag::ChainStep> steps = example.chain;
    if (steps.empty()) steps.push_back({example.question.text, example.gold.front(), {}, {}});
    const auto question = words(chain.question);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Step step;
      step.wording = linked(steps[i].question, question, std::span(steps).first(i));
      each_part(step.wording, i, [](std::string_view) {}, [&](std::size_t k) { step.needs.push_back(k); });
      const std::string filled = substitute(step.wording, i, [&](std::size_t k) { return steps[k].answer; });
      step.fact = add_fact(filled, steps[i].answer);
      Fact& fact = facts_[step.fact];
      if (fact.titles.empty() && !steps[i].support_title.empty()) fact.titles.push_back(words(steps[i].support_title));
      if (!step.needs.empty()) fact.subject = words(steps[step.needs.front()].answer);
      chain.steps.push_back(std::move(step));
    }
    Fact& last = facts_[chain.steps.back().fact];
    if (example.chain.empty() && last.titles.empty())
      for (const std::string& title : example.supporting_titles)
        if (auto w = words(title); std::find(last.titles.begin(), last.titles.end(), w) == last.titles.end())
          last.titles.push_back(std::move(w));
    conclude(chain, last, steps);
    if (by_question_.emplace(sequence_key(chain.question), chains_.size()).second) chains_.push_back(std::move(chain));
  }

  /// Sets how the answer follows from the steps, and the options for a guess.
  void conclude(Chain& chain, Fact& last, std::span<const rag::ChainStep> steps) {
    if (chain.gold.empty()) chain.gold = last.answers;
    chain.last_step_answers =
        std::any_of(chain.gold.begin(), chain.gold.end(), [&](const std::string& g) { return last.answered_by(g); });
    if (chain.last_step_answers)
      for (const std::string& alias : chain.gold) add_answer(last, alias);
    if (is_verdict(chain.gold.front())) {
      chain.options = {"yes", "no"};
      return;
    }
    pool(chain.relation, chain.gold.front());
    if (chain.last_step_answers) return;
    const auto gold = words(chain.gold.front());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!chain.steps[i].needs.empty()) continue;
      const std::string_view asked = steps[i].question;
      const std::size_t mark = asked.find(" >> ");
      if (mark != std::string_view::npos) chain.options.emplace_back(asked.substr(0, mark));
      else if (!steps[i].support_title.empty()) chain.options.push_back(steps[i].support_title);
    }
    const auto same = [&](const std::string& option) { return words(option) == gold; };
    if (const auto it = std::ranges::find_if(chain.options, same); it != chain.options.end()) *it = chain.gold.front();
    else chain.options.clear();
  }

  std::size_t add_fact(const std::string& question, const std::string& answer) {
    const std::uint64_t identity = Hasher().add(sequence_key(question)).add(sequence_key(answer)).finish().low;
    const auto [it, fresh] = by_identity_.emplace(identity, facts_.size());
    if (!fresh) return it->second;
    Fact fact;
    fact.wording = question;
    fact.question = content(question);
    const std::size_t mark = question.find(" >> ");
    fact.subject = mark != std::string::npos ? words(std::string_view(question).substr(0, mark)) : name_in(question);
    fact.identity = identity;
    fact.relation = relation_key(question);
    fact.verdict = is_verdict(answer);
    add_answer(fact, answer);
    if (!fact.verdict) {
      pool(fact.relation, answer);
      pool(shape(answer), answer);
    }
    facts_.push_back(std::move(fact));
    return it->second;
  }
  static void add_answer(Fact& fact, const std::string& answer) {
    if (fact.answered_by(answer)) return;
    fact.answers.push_back(answer);
    fact.written.push_back(words(answer));
  }
  void pool(std::uint64_t key, const std::string& answer) {
    if (pooled_.insert(Hasher().add(key).add(answer).finish()).second) pools_[key].push_back(answer);
  }
  void index() {
    std::unordered_map<Word, std::size_t> frequency;
    for (const Fact& f : facts_)
      for (Word w : f.question) ++frequency[w];
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const auto& question = facts_[i].question;
      if (question.empty()) continue;
      const auto rarer = [&](Word a, Word b) { return std::pair(frequency[a], a) < std::pair(frequency[b], b); };
      by_word_[*std::min_element(question.begin(), question.end(), rarer)].push_back(i);
    }
  }

  std::vector<Fact> facts_;
  std::vector<Chain> chains_;
  std::unordered_map<std::uint64_t, std::size_t> by_question_, by_identity_;
  std::unordered_map<Word, std::vector<std::size_t>> by_word_;  ///< each fact is stored under its rarest word
  std::unordered_map<std::uint64_t, std::vector<std::string>> pools_;
  std::unordered_set<Hash> pooled_;
};

}  // namespace espalier::sim::detail
