#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/output/answers.hpp>
#include <espalier/rag/state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace espalier::run::detail {

/// The counts of a run's summary.json. Scores are means over all questions of the run, if all have gold. Open
/// questions and null predictions score 0, and their numbers are given.
class Summary {
 public:
  std::string method, model, retriever;         ///< their names in results, for example "simulated"
  bool oracle = false;                          ///< gold answers guided the trees
  std::map<std::string, std::string> notes;     ///< what a reader of the products must know, by file
  std::map<std::string, Ledger::Costs> probes;  ///< completions that belong to no question, by purpose
  double seconds = 0;                           ///< this and prompt_cache alone differ between equal runs

  /// Adds the next question, in their order: its row, and the costs of its tree.
  void add(const output::detail::AnswerRow& row, const Ledger& ledger) {
    ++questions_;
    ++by_status_[row.status];
    null_predictions_ += row.status != "open" && !row.answer;
    if (row.em) {
      ++scored_;
      scores_[0] += *row.em;
      scores_[1] += *row.f1;
      scores_[2] += *row.acc;
    }
    for (const auto& [purpose, unread] : ledger.first_unread()) first_unread_.insert({purpose, {row.id, unread}});
    ledger_ += ledger;
  }
  void count(const rag::Tree& tree) {
    nodes_ += tree.size();
    choices_ += tree.choices;
    explored_ += tree.explored;
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::pruned) ++pruned_[static_cast<std::size_t>(tree[id].reason)];
    pruned_[static_cast<std::size_t>(Reason::skipped)] += tree.skips.size();
  }

  /// Whole replies that broke their grammar, by purpose.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& ungoverned() const { return ledger_.execution.ungoverned; }
  [[nodiscard]] std::size_t open() const { return questions_with("open"); }

  [[nodiscard]] std::string json() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("method", method).field("model", model);
    json.field("simulated", model.find("simulated") != std::string::npos).field("retriever", retriever);
    json.field("oracle", oracle).field("questions", questions_);
    for (const char* status : {"done", "budget", "open", "failed"}) json.field(status, questions_with(status));
    json.field("null_predictions", null_predictions_);
    for (std::size_t metric = 0; metric < scores_.size(); ++metric) {
      static constexpr const char* names[] = {"em", "f1", "acc"};
      const double mean = scores_[metric] / static_cast<double>(questions_);
      json.field(names[metric], scored_ > 0 && scored_ + open() == questions_ ? std::optional(mean) : std::nullopt);
    }
    const Ledger::Costs total = ledger_.total();
    json.field("calls", total.completions).field("prompt_tokens", total.prompt_tokens);
    json.field("completion_tokens", total.completion_tokens);
    json.field("retrievals", total.retrievals).field("nodes", nodes_);
    json.field("choices", choices_).field("explored", explored_);
    json.members("by_purpose", ledger_.by_purpose(), [&](const std::string& purpose, const Ledger::Costs& costs) {
      json.field("calls", costs.completions).field("prompt_tokens", costs.prompt_tokens);
      json.field("completion_tokens", costs.completion_tokens).field("retrievals", costs.retrievals);
      json.field("readable", costs.completions - costs.unread).field("cut", costs.cut);
      json.field("cut_read", costs.cut_read).field("refused", costs.refused).field("repairs", costs.repairs);
      json.field("repaired", costs.repaired).field("constrained", costs.constrained);
      if (costs.thinking_tokens > 0) json.field("thinking_tokens", costs.thinking_tokens);
      if (const auto broken = ungoverned().find(purpose); broken != ungoverned().end())
        json.field("grammar_broken", broken->second);
    });
    if (!probes.empty())
      json.members("probes", probes, [&](const std::string&, const Ledger::Costs& costs) {
        json.field("calls", costs.completions).field("prompt_tokens", costs.prompt_tokens);
        json.field("completion_tokens", costs.completion_tokens).field("readable", costs.completions - costs.unread);
      });
    if (!first_unread_.empty())
      json.members("first_unread", first_unread_, [&](const std::string&, const auto& first) {
        const auto& [question, unread] = first;
        json.field("question", question).field("text", unread.text);
        json.field("cut_at", unread.cut_at > 0 ? std::optional(unread.cut_at) : std::nullopt);
        if (unread.in_thought) json.field("in_thought", true);
      });
    json.key("pruned").begin_object();
    for (std::size_t reason = 1; reason < pruned_.size(); ++reason)
      json.field(output::detail::name(static_cast<Reason>(reason)), pruned_[reason]);
    json.end_object();
    std::map<std::string, std::string> all = notes;
    if (choices_ > 0 && explored_ == 0)
      all["trees.jsonl"] = "exploration changed none of " + std::to_string(choices_) +
                           " choices: its weight is small beside the differences of the values, so raise it";
    if (!all.empty()) {
      json.key("notes").begin_object();
      for (const auto& [file, note] : all) json.field(file, note);
      json.end_object();
    }
    if (const auto& prompts = ledger_.execution.prompts; !prompts.empty())
      json.members("prompt_cache", prompts, [&](const std::string&, const Ledger::Execution::Prompts& told) {
        json.field("prompt_tokens", told.reused + told.read).field("reused", told.reused).field("read", told.read);
      });
    json.field("seconds", seconds).end_object();
    return out;
  }

 private:
  [[nodiscard]] std::size_t questions_with(const std::string& status) const {
    const auto it = by_status_.find(status);
    return it == by_status_.end() ? 0 : it->second;
  }

  Ledger ledger_;
  std::map<std::string, std::pair<std::string, Ledger::Unread>> first_unread_;  ///< id of its question, by purpose
  std::uint64_t nodes_ = 0;
  std::uint64_t choices_ = 0, explored_ = 0;  ///< sums over the trees
  std::array<std::uint64_t, 8> pruned_{};     ///< by Reason
  std::map<std::string, std::size_t> by_status_;
  std::size_t null_predictions_ = 0, questions_ = 0;
  std::array<double, 3> scores_{};  ///< sums of em, f1 and acc
  std::size_t scored_ = 0;          ///< questions with them
};

}  // namespace espalier::run::detail
