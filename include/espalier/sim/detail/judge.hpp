#pragma once

#include <espalier/sim/detail/reader.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// Judges what a prompt shows by the documents in it and by its own memory. As a judge the model recognises at least
/// what it recalls, and a share of all facts as large as its skill. What it cannot check gets 0.5. A gold answer counts
/// only if the prompt shows it. Sometimes it judges at random.
class Judge {
 public:
  explicit Judge(const Request& r) : r_(r), recall_(std::max(r.skills.recall, r.skills.judge)) {}

  /// As many numbers as the purpose declares, with two decimals: for the plan, for the newest search, and again for the
  /// plan. If an answer or a step is shown, the numbers are for that.
  [[nodiscard]] std::string scores() const {
    const Protocol::ScoreForm& scale = r_.purpose->scores;
    std::string text;
    for (std::uint32_t i = 0; i < scale.count; ++i) {
      const double quality = by_lot("score", i) ? r_.draws.uniform("score lot", i)
                             : r_.view.answer   ? agreement()
                             : i == 1           ? found()
                                                : plan();
      (text += i == 0 ? "" : ", ") += two_decimals(scale.low + quality * (scale.high - scale.low));
    }
    return text;
  }
  /// Yes or no. With an answer: is it right or supported? With documents: do they help? Else: must something be found?
  [[nodiscard]] std::string verdict() const {
    bool yes = true;
    if (by_lot("verdict")) yes = r_.draws.pick("verdict lot") % 2 == 0;
    else if (r_.view.answer) yes = agreement() > 0.5;
    else if (r_.view.has_documents) yes = found() > 0.5;
    else yes = missing() > 0;
    return yes ? "yes" : "no";
  }
  /// A letter: A if it knows everything, B if one step is missing, C if more are.
  [[nodiscard]] std::string choice() const {
    const std::size_t hops = by_lot("choice") ? r_.draws.pick("choice lot") % 3 : std::min<std::size_t>(missing(), 2);
    return std::string(1, static_cast<char>('A' + hops));
  }
  /// The position of the best candidate over that of the worst, or "none" if they are alike.
  [[nodiscard]] std::string preference() const {
    std::size_t best = 0, worst = 0;
    std::vector<double> worth;
    for (std::string_view candidate : r_.view.candidates) {
      const std::size_t i = worth.size();
      worth.push_back(by_lot("preference") ? r_.draws.uniform("preference lot", i) : step_worth(candidate));
      if (worth[i] > worth[best]) best = i;
      if (worth[i] < worth[worst]) worst = i;
    }
    return best == worst ? "none" : std::to_string(best + 1) + " over " + std::to_string(worst + 1);
  }

 private:
  /// A reader that recalls what the judge recognises.
  [[nodiscard]] Reader reader() const { return {r_, *r_.chain, recall_}; }
  [[nodiscard]] bool by_lot(std::string_view label, std::uint64_t number = 0) const {
    return r_.draws.uniform(label, number) >= r_.skills.judge;
  }
  /// Whether a value of step k is right: 1 or 0, or 0.5 if neither the documents nor memory can tell.
  [[nodiscard]] double checked(const Reader& reader, std::size_t k, std::string_view value) const {
    const Fact* fact = r_.knowledge.find(content(reader.question(k)));
    if (!fact || !(shown(*fact, r_.view) || recalls(r_.skills.seed, recall_, *fact))) return 0.5;
    return fact->answered_by(value) ? 1 : 0;
  }
  /// The share of steps that are settled rightly, counting the one that is being pursued.
  [[nodiscard]] double plan() const {
    if (r_.view.step) return step_worth(*r_.view.step);
    if (!r_.chain) return 0.5;
    Reader reader = this->reader();
    reader.look(false);
    double gone = 0;
    bool pursued = false;
    std::vector<double> worth(reader.steps(), 0);
    for (std::size_t k = 0; k < reader.steps(); ++k) {
      if (!reader.ready(k)) continue;
      const auto& value = reader.value(k);
      if (value) {
        worth[k] = !value->said ? 1 : checked(reader, k, value->text);
        for (std::size_t n : r_.chain->steps[k].needs) worth[k] = std::min(worth[k], worth[n]);
      } else if (!pursued && asks_for(r_.view.pursued, content(reader.question(k)))) {
        pursued = true;
        worth[k] = 1;
      }
      gone += worth[k];
    }
    return gone / static_cast<double>(reader.steps());
  }
  /// Whether the newest documents show something that was not yet said.
  [[nodiscard]] double found() const {
    const std::size_t fresh = r_.view.fresh;
    const Fact* asked = r_.view.query ? r_.knowledge.find_for(*r_.view.query) : nullptr;
    if (!asked && !r_.chain) asked = r_.knowledge.find_for(r_.question);
    if (asked || !r_.chain) return asked && shown(*asked, r_.view, fresh) ? 1 : 0;
    Reader reader = this->reader();
    reader.look(false);
    for (std::size_t k = 0; k < reader.steps(); ++k)
      if (!(reader.value(k) && reader.value(k)->said) &&
          shown(r_.knowledge.fact(r_.chain->steps[k].fact), r_.view, fresh))
        return 1;
    return 0;
  }
  /// The agreement of the shown answer with the best shown gold answer, by words. Gold answers stand one per line or
  /// between slashes. Without gold it is compared with the model's own belief.
  [[nodiscard]] double agreement() const {
    if (r_.view.gold) {
      double best = 0;
      for (std::string_view rest = *r_.view.gold; !rest.empty();) {
        const std::size_t end = std::min({rest.find('\n'), rest.find(" / "), rest.size()});
        best = std::max(best, overlap(words(*r_.view.answer), words(rest.substr(0, end))));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      return best;
    }
    const auto believed = belief();
    return believed ? double(words(*believed) == words(*r_.view.answer)) : 0.5;
  }
  /// The answer that the model would give itself, if it knows enough. It trusts its memory before the prompt.
  [[nodiscard]] std::optional<std::string> belief() const {
    if (!r_.chain) return std::nullopt;
    Reader reader = this->reader();
    for (std::size_t k = 0; k < reader.steps(); ++k)
      if (reader.ready(k) && !reader.recall(k)) reader.see(k);
    return reader.answer();
  }
  static std::string two_decimals(double number) {
    const long long hundredths = std::llround(number * 100), size = std::llabs(hundredths);
    return (hundredths < 0 ? "-" : "") + std::to_string(size / 100) + (size % 100 < 10 ? ".0" : ".") +
           std::to_string(size % 100);
  }
  /// F1 of two lists of words.
  static double overlap(std::vector<Word> a, std::vector<Word> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::vector<Word> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both.empty() ? 0 : 2 * static_cast<double>(both.size()) / static_cast<double>(a.size() + b.size());
  }
  /// The number of steps that the prompt does not say and the model does not recall.
  [[nodiscard]] std::size_t missing() const {
    if (!r_.chain) {
      const Fact* fact = r_.knowledge.find_for(r_.question);
      return fact && recalls(r_.skills.seed, r_.skills.recall, *fact) ? 0 : 1;
    }
    Reader reader(r_, *r_.chain, r_.skills.recall);
    reader.look(true);
    if (reader.answer()) return 0;
    std::size_t count = 0;
    for (std::size_t k = 0; k < reader.steps(); ++k) count += !reader.value(k);
    return count;
  }
  /// The value of a possible next step. A statement counts as far as it is right. A question or query counts if it is
  /// about the first open step. An answer counts if the model believes it.
  [[nodiscard]] double step_worth(std::string_view step) const {
    if (!r_.chain) return 0.5;
    const auto believed = belief();
    if (believed && contains(words(step), words(*believed))) return 1;
    Reader reader = this->reader();
    reader.look(false);
    const auto said = content(step);
    double worth = 0;
    for (std::size_t k = 0; k < reader.steps(); ++k) {
      if (!reader.ready(k)) continue;
      const std::string asked = reader.question(k);
      if (const auto stated = View::stated_in(step, statement(asked))) {
        worth = checked(reader, k, *stated);
        if (worth == 0) return 0;
        reader.believe(k, std::string(*stated), true);
      } else if (!reader.value(k)) {
        auto key = content(asked);
        std::erase_if(key, asks);
        if (std::includes(said.begin(), said.end(), key.begin(), key.end())) worth = 1;
        break;
      }
    }
    return worth;
  }

  const Request& r_;
  double recall_;
};

}  // namespace espalier::sim::detail
