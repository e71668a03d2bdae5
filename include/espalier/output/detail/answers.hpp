#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/output/chain.hpp>

#include <exception>
#include <optional>
#include <string>

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

/// Tells people which completions could not be read: the purpose with the largest share of them, their number, and how
/// the first begins. Empty if all could be read.
inline std::string unread_text(const Ledger& ledger) {
  const Ledger::Costs* most = nullptr;
  std::string worst;
  for (const auto& [purpose, costs] : ledger.by_purpose()) {
    if (costs.unread == 0) continue;
    const auto share = [](const Ledger::Costs& c) {
      return static_cast<double>(c.unread) / static_cast<double>(c.completions);
    };
    if (most != nullptr &&
        (share(costs) < share(*most) || (share(costs) == share(*most) && costs.unread <= most->unread)))
      continue;
    most = &costs;
    worst = purpose;
  }
  if (most == nullptr) return {};
  std::string text = std::to_string(most->unread) + " of " + std::to_string(most->completions) + " completions of '" +
                     worst + "' could not be read";
  if (most->cut > 0) text += ", " + std::to_string(most->cut) + " of them cut by max_tokens";
  const auto first = ledger.first_unread().find(worst);
  if (first == ledger.first_unread().end()) return text;
  text += "; the first";
  if (first->second.cut_at > 0) {
    text += first->second.in_thought ? ", cut in its thought at max_tokens=" : ", cut at max_tokens=";
    text += std::to_string(first->second.cut_at);
  }
  return text + (first->second.text.empty() ? ", is empty" : ": \"" + first->second.text + '"');
}

/// The row of a finished tree, scored under a profile.
inline AnswerRow answer_row(const TreeRecord& record, rag::Profile profile = rag::Profile::common) {
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
  if (!root.has_gold()) return row;
  const rag::Scores scores = rag::score(profile, row.answer, root.gold());
  row.em = scores.em;
  row.f1 = scores.f1;
  row.acc = scores.acc;
  return row;
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
  const auto field = [&](const char* key, const auto& value) {
    json.key(key);
    if (value) json.value(*value);
    else json.null();
  };
  const auto cost = [&](const char* key, std::uint64_t Ledger::Costs::* part) {
    field(key, row.costs ? std::optional<std::uint64_t>((*row.costs).*part) : std::nullopt);
  };
  json.begin_object().field("id", row.id).field("question", row.question);
  field("answer", row.answer);
  json.field("status", row.status);
  field("error", row.error.empty() ? std::nullopt : std::optional<std::string>(row.error));
  field("em", row.em);
  field("f1", row.f1);
  field("acc", row.acc);
  cost("completions", &Ledger::Costs::completions);
  cost("prompt_tokens", &Ledger::Costs::prompt_tokens);
  cost("completion_tokens", &Ledger::Costs::completion_tokens);
  cost("retrievals", &Ledger::Costs::retrievals);
  json.end_object();
  out += '\n';
}

}  // namespace espalier::output::detail
