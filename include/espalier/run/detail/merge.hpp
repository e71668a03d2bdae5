#pragma once

#include <espalier/output/detail/json_line.hpp>
#include <espalier/run/detail/jsonl.hpp>
#include <espalier/run/detail/outputs.hpp>
#include <espalier/run/detail/run_record.hpp>
#include <espalier/run/detail/summary.hpp>
#include <espalier/run/settings.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The summary of a run from those of its shards and from its answers.
class MergedSummary {
 public:
  Summary summary;

  /// Adds a shard's summary.json. Throws InputError.
  void add(const std::string& file) {
    simdjson::dom::parser parser;
    simdjson::dom::element read;
    if (const auto error = parser.load(file).get(read)) throw InputError(file, 0, "", simdjson::error_message(error));
    if (!read.is_object()) throw InputError(file, 0, "", "is not a JSON object");
    const JsonLine part(file, 0, read);
    if (summary.method.empty()) {
      summary.method = part.text("method");
      summary.model = part.text("model");
      summary.retriever = part.text("retriever");
    }
    summary.oracle = summary.oracle || part.as<bool>("oracle", "true or false");
    summary.seconds += part.number("seconds");
    add_trees(part);
    if (part.has("first_unread"))
      for (const auto& [purpose, unread] : part.members("first_unread")) {
        Ledger::Unread one("", unread.count_or("cut_at", 0), Seed(), 0);
        one.text = unread.text("text");
        one.in_thought = unread.has("in_thought");
        unread_[unread.text("question")].emplace_back(purpose, std::move(one));
      }
    if (!part.has("notes")) return;
    const std::string warning = exploration_warning(part.count("choices"), part.count("explored"));
    for (const auto [name, note] : part.object("notes").as_object())
      if (const std::string text(note.get_string().value()); text != warning)
        add_note(summary.notes[std::string(name)], text);
  }

  /// Adds the answers of the whole run, in order, once all shards are added. Throws InputError.
  void add_answers(const std::string& file) {
    std::size_t index = 0;
    output::detail::for_each_line(file, [&](const JsonLine& line) {
      output::detail::AnswerRow row;
      row.status = line.text("status");
      if (line.has("answer")) row.answer.emplace();
      if (line.has("em")) row.em = line.number("em"), row.f1 = line.number("f1"), row.acc = line.number("acc");
      summary.add(index, row);
      if (const auto found = unread_.find(line.text("id")); found != unread_.end())
        for (const auto& [purpose, unread] : found->second)
          summary.trees.first_unread.insert({purpose, {index, found->first, unread}});
      ++index;
      return true;
    });
  }

 private:
  using JsonLine = output::detail::JsonLine;

  void add_trees(const JsonLine& part) {
    TreeSums sums;
    sums.nodes = part.count("nodes");
    sums.choices = part.count("choices");
    sums.explored = part.count("explored");
    for (const auto& [purpose, counts] : part.members("by_purpose")) {
      sums.ledger[purpose] = costs_of(counts);
      if (counts.has("grammar_broken")) sums.ledger.execution.ungoverned[purpose] = counts.count("grammar_broken");
    }
    for (std::size_t reason = 1; reason < sums.pruned.size(); ++reason)
      sums.pruned[reason] = part.object("pruned").count(output::detail::name(static_cast<Reason>(reason)));
    summary.trees += sums;
  }
  static Ledger::Costs costs_of(const JsonLine& counts) {
    Ledger::Costs costs;
    costs.completions = counts.count("calls");
    costs.prompt_tokens = counts.count("prompt_tokens");
    costs.completion_tokens = counts.count("completion_tokens");
    costs.unread = costs.completions - counts.count("readable");
    costs.retrievals = counts.count_or("retrievals", 0);
    costs.cut = counts.count_or("cut", 0);
    costs.cut_read = counts.count_or("cut_read", 0);
    costs.refused = counts.count_or("refused", 0);
    costs.repairs = counts.count_or("repairs", 0);
    costs.repaired = counts.count_or("repaired", 0);
    costs.constrained = counts.count_or("constrained", 0);
    costs.thinking_tokens = counts.count_or("thinking_tokens", 0);
    return costs;
  }
  /// Joins notes of two shards. Where they differ only in the number that they begin with, it is a count.
  static void add_note(std::string& whole, const std::string& part) {
    const auto split = [](const std::string& note) {
      const std::size_t end = note.find_first_not_of("0123456789");
      return std::pair(note.substr(0, end), end == std::string::npos ? "" : note.substr(end));
    };
    const auto [count, rest] = split(part);
    const auto [before, same] = split(whole);
    if (whole.empty()) whole = part;
    else if (!count.empty() && !before.empty() && rest == same)
      whole = std::to_string(std::stoull(before) + std::stoull(count)) + rest;
    else if (whole.find(part) == std::string::npos) whole += "; " + part;
  }

  std::map<std::string, std::vector<std::pair<std::string, Ledger::Unread>>> unread_;  ///< purposes, by question
};

/// Completes the folder of a run that was done in shards: from the rows in it, which stand in the order of the
/// questions, and from the folders of the shards it makes summary.json and run.json. `journal`: where the run's journal
/// is, "" = in the folder. `add_outputs` may write further files into the folder in between. Throws InputError.
inline void complete_merge(const std::vector<std::filesystem::path>& shards, const std::filesystem::path& folder,
                           const std::string& journal, const OutputHook& add_outputs = nullptr) {
  MergedSummary merged;
  for (const auto& shard : shards) merged.add((shard / "summary.json").string());
  merged.add_answers((folder / "answers.jsonl").string());
  write_lines((folder / "summary.json").string(), std::vector{merged.summary.json()});
  if (add_outputs) add_outputs(folder);

  const output::detail::FlatFields recorded = output::detail::read_flat_fields((shards.front() / "run.json").string());
  output::detail::FlatFields fields = RunRecord::whole(recorded, journal);
  if (recorded.front().first == "annotated") mark_annotated(fields);
  note_outputs(fields, folder);
  write_record(folder / "run.json", fields);
}

}  // namespace espalier::run::detail
