#pragma once

#include <espalier/output/chain.hpp>

#include <exception>
#include <optional>
#include <string>

namespace espalier::output {

/// One row of answers.jsonl: what became of a question.
struct AnswerRow {
  std::string id, question;
  std::optional<std::string> answer;  ///< nothing = null prediction, scored 0
  std::string status;                 ///< done | open | budget
  std::string error;                  ///< why it is open
  std::optional<double> em, f1, acc;  ///< nothing without gold or while open
  Costs costs;
};

inline AnswerRow answer_row(const TreeRecord& record, rag::Profile profile = rag::Profile::common) {
  const rag::State& root = record.tree.state(record.tree.root());
  AnswerRow row;
  row.id = root.question().id;
  row.question = root.question().text;
  row.status = name(record.tree.ending);
  row.costs = record.tree.ledger.total();
  if (const auto best = best_answer(record.tree)) row.answer = best->text;
  if (!root.has_gold()) return row;
  const rag::Scores scores = rag::score(profile, row.answer, root.gold());
  row.em = scores.em;
  row.f1 = scores.f1;
  row.acc = scores.acc;
  return row;
}

/// The row of a question whose search a backend's failure left open.
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
  const auto score = [&](const char* key, const std::optional<double>& value) {
    json.key(key);
    if (value) json.value(*value);
    else json.null();
  };
  json.begin_object().field("id", row.id).field("question", row.question).key("answer");
  if (row.answer) json.value(*row.answer);
  else json.null();
  json.field("status", row.status).key("error");
  if (row.error.empty()) json.null();
  else json.value(row.error);
  score("em", row.em);
  score("f1", row.f1);
  score("acc", row.acc);
  json.field("completions", row.costs.completions).field("prompt_tokens", row.costs.prompt_tokens);
  json.field("completion_tokens", row.costs.completion_tokens).field("retrievals", row.costs.retrievals).end_object();
  out += '\n';
}

}  // namespace espalier::output
