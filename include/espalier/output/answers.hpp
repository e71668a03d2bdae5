#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/output/chain.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace espalier::output::detail {

/// One row of answers.jsonl: the result of one question.
struct AnswerRow {
  std::string id, question;
  std::optional<std::string> answer;   ///< nothing = null prediction, scored 0
  std::string status;                  ///< done | budget | failed (ended without any answer) | open (no tree yet)
  std::string error;                   ///< the reason if it is failed or open
  std::optional<double> em, f1, acc;   ///< nothing without gold or while open
  std::optional<Ledger::Costs> costs;  ///< of the whole search, nothing while open
};

/// Which completions could not be read, for people: the purpose with the largest share, how many, the first. "" = none.
inline std::string unread_text(const Ledger& ledger) {
  const auto rank = [](const Ledger::Costs& costs) {
    const double share = double(costs.unread) / double(std::max<std::uint64_t>(costs.completions, 1));
    return std::pair(share, costs.unread);
  };
  const auto worst =
      std::ranges::max_element(ledger.by_purpose(), {}, [&](const auto& one) { return rank(one.second); });
  if (worst == ledger.by_purpose().end() || worst->second.unread == 0) return {};
  const auto& [purpose, costs] = *worst;
  std::string text = std::to_string(costs.unread) + " of " + std::to_string(costs.completions) + " completions of '" +
                     purpose + "' could not be read";
  if (costs.cut > 0) text += ", " + std::to_string(costs.cut) + " of them cut by max_tokens";
  const auto first = ledger.first_unread().find(purpose);
  if (first == ledger.first_unread().end()) return text;
  text += "; the first";
  if (first->second.cut_at > 0) {
    text += first->second.in_thought ? ", cut in its thought at max_tokens=" : ", cut at max_tokens=";
    text += std::to_string(first->second.cut_at);
  }
  return text + (first->second.text.empty() ? ", is empty" : ": \"" + first->second.text + '"');
}

/// The row of a finished tree, scored by gold answers. null = those that its search had, if any.
inline AnswerRow answer_row(const TreeRecord& record, const rag::Gold* gold = nullptr) {
  const rag::State& root = record.tree.state(record.tree.root());
  AnswerRow row;
  row.id = root.question().id;
  row.question = root.question().text;
  row.status = name(record.tree.ending);
  row.costs = record.tree.ledger.total();
  if (const auto best = best_answer(record.tree)) {
    row.answer = best->text;
  } else if (record.tree.ending == SearchFacts::Ending::done) {
    row.status = "failed";
    const std::string unread = unread_text(record.tree.ledger);
    row.error = "no reply of the model could be read as an answer" + (unread.empty() ? unread : ": " + unread);
  }
  if (!gold && root.has_gold()) gold = &root.gold();
  if (!gold) return row;
  const rag::Scores scores = rag::score(rag::Profile::common, row.answer, *gold);
  row.em = scores.em;
  row.f1 = scores.f1;
  row.acc = scores.acc;
  return row;
}

/// Judges a question by its data, where no tree is meant to answer: it failed if there are none.
inline void judge_by_data(AnswerRow& row, bool without_data) {
  row.em = row.f1 = row.acc = std::nullopt;
  row.status = without_data ? "failed" : "done";
  const std::string why = row.error.substr(std::min(row.error.find(':'), row.error.size()));
  row.error = !without_data ? ""
              : row.costs->completions > 0
                  ? "no row could be made of the replies" + why
                  : "nothing was asked for its rows (notes in summary.json may say what it lacks)";
}

/// The row of a question without a tree, because a backend failed.
inline AnswerRow open_row(const rag::Question& question, const std::exception_ptr& error) {
  AnswerRow row;
  row.id = question.id;
  row.question = question.text;
  row.status = "open";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    row.error = e.what();
  }
  return row;
}

inline void append_answer_row(const AnswerRow& row, std::string& out) {
  JsonWriter json(out);
  const auto cost = [&](const char* key, std::uint64_t Ledger::Costs::* part) {
    json.field(key, row.costs ? std::optional((*row.costs).*part) : std::nullopt);
  };
  json.begin_object().field("id", row.id).field("question", row.question);
  json.field("answer", row.answer).field("status", row.status);
  json.field("error", row.error.empty() ? std::nullopt : std::optional(row.error));
  json.field("em", row.em).field("f1", row.f1).field("acc", row.acc);
  cost("completions", &Ledger::Costs::completions);
  cost("prompt_tokens", &Ledger::Costs::prompt_tokens);
  cost("completion_tokens", &Ledger::Costs::completion_tokens);
  cost("retrievals", &Ledger::Costs::retrievals);
  json.end_object();
  out += '\n';
}

}  // namespace espalier::output::detail
