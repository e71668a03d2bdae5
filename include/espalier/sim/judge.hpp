#pragma once

#include <espalier/sim/finder.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim {

/// Judges what a prompt shows by what the documents in it say and by what it recalls itself; what it can check neither way
/// is worth a half. A gold answer counts only where the prompt shows it. Now and then it judges by lot.
class Judge {
 public:
  Judge(const Knowledge& knowledge, const Skills& skills, const Request& request)
      : knowledge_(knowledge), skills_(skills), r_(request), finder_(knowledge, skills, request), chain_(knowledge.chain(request.question)) {}

  /// As many numbers as the purpose declares, with two decimals: of the plan, of the newest search, and of the plan
  /// again; each of them of the answer if one is shown, or of the step.
  [[nodiscard]] std::string scores() const {
    const ScoreForm& scale = r_.purpose->scores;
    std::string text;
    for (std::uint32_t i = 0; i < scale.count; ++i) {
      const double quality = by_lot("score", i) ? r_.draws.uniform("score lot", i) : r_.view.answer ? agreement() : i == 1 ? found() : plan();
      (text += i == 0 ? "" : ", ") += two_decimals(scale.low + quality * (scale.high - scale.low));
    }
    return text;
  }
  /// Yes or no: is the answer right or borne out, do the documents help, or else: is there something to look up?
  [[nodiscard]] std::string verdict() const {
    bool yes = true;
    if (by_lot("verdict")) yes = r_.draws.pick("verdict lot") % 2 == 0;
    else if (r_.view.answer) yes = agreement() > 0.5;
    else if (r_.view.has_documents) yes = found() > 0.5;
    else yes = missing() > 0;
    return yes ? "yes" : "no";
  }
  /// A letter: A if it knows everything, B if one step is missing, C for more.
  [[nodiscard]] std::string choice() const {
    const std::size_t hops = by_lot("choice") ? r_.draws.pick("choice lot") % 3 : std::min<std::size_t>(missing(), 2);
    return std::string(1, static_cast<char>('A' + hops));
  }
  /// The best candidate over the worst, by position; "none" if they are alike.
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
  [[nodiscard]] bool by_lot(std::string_view label, std::uint64_t number = 0) const {
    return r_.draws.uniform(label, number) >= skills_.judge;
  }
  /// Whether a value of step k is right: 1 or 0, or 0.5 if neither the documents nor memory tell.
  [[nodiscard]] double checked(const Reader& reader, std::size_t k, std::string_view value) const {
    const Fact* fact = knowledge_.find(content(reader.question(k)));
    if (!fact || !(shown(*fact, r_.view) || recalls(skills_, *fact))) return 0.5;
    return fact->answered_by(value) ? 1 : 0;
  }
  /// How much of the way has been gone rightly: steps that are settled, and the one being pursued, out of all.
  [[nodiscard]] double plan() const {
    if (r_.view.step) return step_worth(*r_.view.step);
    if (!chain_) return 0.5;
    Reader reader = finder_.reader(*chain_);
    reader.look(false);
    double gone = 0;
    bool pursued = false;
    std::vector<double> worth(reader.steps(), 0);
    for (std::size_t k = 0; k < reader.steps(); ++k) {
      if (!reader.ready(k)) continue;
      const auto& value = reader.value(k);
      if (value) {
        worth[k] = !value->said ? 1 : checked(reader, k, value->text);
        for (std::size_t n : chain_->steps[k].needs) worth[k] = std::min(worth[k], worth[n]);
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
    const std::size_t fresh = r_.view.fresh();
    if (const Fact* asked = r_.view.query ? knowledge_.find_for(*r_.view.query) : nullptr) return shown(*asked, r_.view, fresh) ? 1 : 0;
    if (!chain_) {
      const Fact* fact = knowledge_.find_for(r_.question);
      return fact && shown(*fact, r_.view, fresh) ? 1 : 0;
    }
    Reader reader = finder_.reader(*chain_);
    reader.look(false);
    for (std::size_t k = 0; k < reader.steps(); ++k)
      if (!(reader.value(k) && reader.value(k)->said) && shown(knowledge_.fact(chain_->steps[k].fact), r_.view, fresh)) return 1;
    return 0;
  }
  /// How well the answer shown agrees: with the gold answers shown, one a line or between slashes, by its words; or else with what it believes itself.
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
  /// The answer that it would give itself, if it knows enough.
  [[nodiscard]] std::optional<std::string> belief() const {
    if (!chain_) return std::nullopt;
    Reader reader = finder_.reader(*chain_);
    reader.look(true);
    return reader.answer();
  }
  static std::string two_decimals(double number) {
    const long long hundredths = std::llround(number * 100), size = std::llabs(hundredths);
    return (hundredths < 0 ? "-" : "") + std::to_string(size / 100) + (size % 100 < 10 ? ".0" : ".") + std::to_string(size % 100);
  }
  /// F1 of two lists of words.
  static double overlap(std::vector<Word> a, std::vector<Word> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::vector<Word> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both.empty() ? 0 : 2 * static_cast<double>(both.size()) / static_cast<double>(a.size() + b.size());
  }
  /// How many steps it neither finds said in the prompt nor recalls.
  [[nodiscard]] std::size_t missing() const {
    if (!chain_) {
      const Fact* fact = knowledge_.find_for(r_.question);
      return fact && recalls(skills_, *fact) ? 0 : 1;
    }
    Reader reader = finder_.reader(*chain_);
    reader.look(true);
    if (reader.answer()) return 0;
    std::size_t count = 0;
    for (std::size_t k = 0; k < reader.steps(); ++k) count += !reader.value(k);
    return count;
  }
  /// What a step is worth that could come next: a statement as far as it is right, a question or query if it is about the
  /// first open thing, an answer if it is the one believed.
  [[nodiscard]] double step_worth(std::string_view step) const {
    if (!chain_) return 0.5;
    const auto believed = belief();
    if (believed && contains(words(step), words(*believed))) return 1;
    Reader reader = finder_.reader(*chain_);
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

  const Knowledge& knowledge_;
  const Skills& skills_;
  const Request& r_;
  Finder finder_;
  const Chain* chain_;
};

}  // namespace espalier::sim
