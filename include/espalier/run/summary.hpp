#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/output/answers.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/search/exploration.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The counts of a run's summary.json. Scores are means over all questions of the run. Open questions and null
/// predictions score 0, and their numbers are given.
class Summary {
 public:
  std::string method, model, retriever;      ///< their names in results, for example "simulated"
  bool oracle = false;                       ///< gold answers guided the trees
  std::map<std::string, std::string> notes;  ///< what a reader of the products must know, by file
  std::map<std::string, Costs> probes;       ///< completions that belong to no question, by purpose
  double seconds = 0;                        ///< the only field that differs between equal runs

  explicit Summary(std::size_t questions) : scores_(questions) {}

  /// Adds the row of question `index`, in any order.
  void add(std::size_t index, const output::AnswerRow& row) {
    ++by_status_[row.status];
    null_predictions_ += row.status != "open" && !row.answer;
    if (row.em) scores_[index] = {*row.em, *row.f1, *row.acc};
    scored_ = scored_ || row.em;
  }
  /// Question `index`'s tree; in any order.
  void add(std::size_t index, const rag::Tree& tree) {
    ledger_ += tree.ledger;
    for (const auto& [purpose, unread] : tree.ledger.first_unread()) {
      FirstUnread first{index, tree.state(rag::Tree::root()).question().id, unread};
      const auto [it, fresh] = first_unread_.try_emplace(purpose, first);
      if (!fresh && index < it->second.index) it->second = std::move(first);
    }
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::pruned) ++pruned_[static_cast<std::size_t>(tree[id].reason)];
    pruned_[static_cast<std::size_t>(Reason::skipped)] += tree.skips.size();
    nodes_ += tree.size();
    choices_ += tree.choices;
    explored_ += tree.explored;
  }

  /// Whole replies that broke their grammar, by purpose.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& ungoverned() const { return ledger_.execution.ungoverned; }
  [[nodiscard]] std::size_t open() const { return count("open"); }

  [[nodiscard]] std::string json() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object()
        .field("method", method)
        .field("model", model)
        .field("simulated", model.find("simulated") != std::string::npos)
        .field("retriever", retriever);
    json.field("oracle", oracle).field("questions", scores_.size());
    for (const char* status : {"done", "budget", "open", "failed"}) json.field(status, count(status));
    json.field("null_predictions", null_predictions_);
    for (std::size_t metric = 0; metric < 3; ++metric) {
      static constexpr const char* names[] = {"em", "f1", "acc"};
      double sum = 0;
      for (const auto& scores : scores_) sum += scores[metric];
      if (scored_) json.field(names[metric], sum / static_cast<double>(scores_.size()));
      else json.key(names[metric]).null();
    }
    const Costs total = ledger_.total();
    json.field("calls", total.completions)
        .field("prompt_tokens", total.prompt_tokens)
        .field("completion_tokens", total.completion_tokens);
    json.field("retrievals", total.retrievals).field("nodes", nodes_).key("by_purpose").begin_object();
    for (const auto& [purpose, costs] : ledger_.by_purpose()) {
      json.key(purpose).begin_object().field("calls", costs.completions).field("prompt_tokens", costs.prompt_tokens);
      json.field("completion_tokens", costs.completion_tokens).field("retrievals", costs.retrievals);
      json.field("readable", costs.completions - costs.unread)
          .field("cut", costs.cut)
          .field("cut_read", costs.cut_read);
      json.field("refused", costs.refused).field("repairs", costs.repairs).field("repaired", costs.repaired);
      json.field("constrained", costs.constrained);
      if (costs.thinking_tokens > 0) json.field("thinking_tokens", costs.thinking_tokens);
      const auto broken = ledger_.execution.ungoverned.find(purpose);
      if (broken != ledger_.execution.ungoverned.end()) json.field("grammar_broken", broken->second);
      json.end_object();
    }
    json.end_object();
    if (!probes.empty()) write_probes(json);
    if (!first_unread_.empty()) write_first_unread(json);
    json.key("pruned").begin_object();
    for (std::size_t reason = 1; reason < pruned_.size(); ++reason)
      json.field(output::name(static_cast<Reason>(reason)), pruned_[reason]);
    json.end_object();
    std::map<std::string, std::string> all = notes;
    if (std::string warning = exploration_warning(choices_, explored_); !warning.empty())
      all["trees.jsonl"] = std::move(warning);
    if (!all.empty()) {
      json.key("notes").begin_object();
      for (const auto& [file, note] : all) json.field(file, note);
      json.end_object();
    }
    json.field("seconds", seconds).end_object();
    return out;
  }

 private:
  struct FirstUnread {
    std::size_t index;     ///< of its question
    std::string question;  ///< its id
    Unread unread;
  };
  void write_probes(JsonWriter& json) const {
    json.key("probes").begin_object();
    for (const auto& [purpose, costs] : probes) {
      json.key(purpose).begin_object().field("calls", costs.completions).field("prompt_tokens", costs.prompt_tokens);
      json.field("completion_tokens", costs.completion_tokens).field("readable", costs.completions - costs.unread);
      json.end_object();
    }
    json.end_object();
  }
  void write_first_unread(JsonWriter& json) const {
    json.key("first_unread").begin_object();
    for (const auto& [purpose, first] : first_unread_) {
      json.key(purpose).begin_object().field("question", first.question).field("text", first.unread.text).key("cut_at");
      if (first.unread.cut_at > 0) json.value(first.unread.cut_at);
      else json.null();
      if (first.unread.in_thought) json.field("in_thought", true);
      json.end_object();
    }
    json.end_object();
  }
  [[nodiscard]] std::size_t count(const std::string& status) const {
    const auto it = by_status_.find(status);
    return it == by_status_.end() ? 0 : it->second;
  }
  std::map<std::string, std::size_t> by_status_;
  std::size_t null_predictions_ = 0, nodes_ = 0;
  std::vector<std::array<double, 3>> scores_;  ///< em, f1, acc of each question
  bool scored_ = false;
  Ledger ledger_;
  std::map<std::string, FirstUnread> first_unread_;  ///< by purpose
  std::uint64_t choices_ = 0, explored_ = 0;
  std::array<std::uint64_t, 8> pruned_{};
};

}  // namespace espalier::run::detail
