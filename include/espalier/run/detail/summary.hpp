#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/output/detail/answers.hpp>
#include <espalier/rag/state.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace espalier::run::detail {

/// A warning if the exploration term changed no choice, else an empty text. Also empty if there was nothing to choose.
/// The counts are `choices` and `explored` of a tree, or their sums over the trees of a run.
inline std::string exploration_warning(std::uint64_t choices, std::uint64_t explored) {
  if (choices == 0 || explored > 0) return "";
  return "exploration changed none of " + std::to_string(choices) +
         " choices: its weight is small beside the differences of the values; raise it, or normalise the values";
}

/// Sums over the trees of a run.
struct TreeSums {
  struct FirstUnread {
    std::size_t index;     ///< of its question
    std::string question;  ///< its id
    Ledger::Unread unread;
  };
  Ledger ledger{};
  std::map<std::string, FirstUnread> first_unread{};  ///< by purpose
  std::uint64_t nodes = 0;
  std::uint64_t choices = 0, explored = 0;  ///< see exploration_warning
  std::array<std::uint64_t, 8> pruned{};    ///< by Reason

  TreeSums& operator+=(const TreeSums& other) {
    ledger += other.ledger;
    for (const auto& [purpose, first] : other.first_unread) {
      const auto [it, fresh] = first_unread.try_emplace(purpose, first);
      if (!fresh && first.index < it->second.index) it->second = first;
    }
    nodes += other.nodes;
    choices += other.choices;
    explored += other.explored;
    for (std::size_t reason = 0; reason < pruned.size(); ++reason) pruned[reason] += other.pruned[reason];
    return *this;
  }
};

/// The counts of a run's summary.json. Scores are means over all questions of the run. Open questions and null
/// predictions score 0, and their numbers are given.
class Summary {
 public:
  std::string method, model, retriever;         ///< their names in results, for example "simulated"
  bool oracle = false;                          ///< gold answers guided the trees
  std::map<std::string, std::string> notes;     ///< what a reader of the products must know, by file
  std::map<std::string, Ledger::Costs> probes;  ///< completions that belong to no question, by purpose
  double seconds = 0;                           ///< the only field that differs between equal runs
  TreeSums trees;

  /// Adds the row of question `index`, from 0. The rows of all questions come, in any order.
  void add(std::size_t index, const output::detail::AnswerRow& row) {
    ++by_status_[row.status];
    null_predictions_ += row.status != "open" && !row.answer;
    scored_ = scored_ || row.em;
    waiting_[index] = row.em ? Scores{*row.em, *row.f1, *row.acc} : Scores{};
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == questions_; it = waiting_.erase(it)) {
      for (std::size_t metric = 0; metric < 3; ++metric) scores_[metric] += it->second[metric];
      ++questions_;
    }
  }
  /// Adds the tree of question `index`. The trees may come in any order.
  void add(std::size_t index, const rag::Tree& tree) {
    TreeSums sums{.ledger = tree.ledger, .nodes = tree.size(), .choices = tree.choices, .explored = tree.explored};
    for (const auto& [purpose, unread] : tree.ledger.first_unread())
      sums.first_unread.insert({purpose, {index, tree.state(rag::Tree::root()).question().id, unread}});
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::pruned) ++sums.pruned[static_cast<std::size_t>(tree[id].reason)];
    sums.pruned[static_cast<std::size_t>(Reason::skipped)] += tree.skips.size();
    trees += sums;
  }

  /// Whole replies that broke their grammar, by purpose.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& ungoverned() const {
    return trees.ledger.execution.ungoverned;
  }
  [[nodiscard]] std::size_t open() const { return count("open"); }

  [[nodiscard]] std::string json() const {
    std::string out;
    JsonWriter json(out);
    json.begin_object()
        .field("method", method)
        .field("model", model)
        .field("simulated", model.find("simulated") != std::string::npos)
        .field("retriever", retriever);
    json.field("oracle", oracle).field("questions", questions_);
    for (const char* status : {"done", "budget", "open", "failed"}) json.field(status, count(status));
    json.field("null_predictions", null_predictions_);
    for (std::size_t metric = 0; metric < 3; ++metric) {
      static constexpr const char* names[] = {"em", "f1", "acc"};
      if (scored_) json.field(names[metric], scores_[metric] / static_cast<double>(questions_));
      else json.key(names[metric]).null();
    }
    const Ledger::Costs total = trees.ledger.total();
    json.field("calls", total.completions)
        .field("prompt_tokens", total.prompt_tokens)
        .field("completion_tokens", total.completion_tokens);
    json.field("retrievals", total.retrievals).field("nodes", trees.nodes);
    json.field("choices", trees.choices).field("explored", trees.explored).key("by_purpose").begin_object();
    for (const auto& [purpose, costs] : trees.ledger.by_purpose()) {
      json.key(purpose).begin_object().field("calls", costs.completions).field("prompt_tokens", costs.prompt_tokens);
      json.field("completion_tokens", costs.completion_tokens).field("retrievals", costs.retrievals);
      json.field("readable", costs.completions - costs.unread)
          .field("cut", costs.cut)
          .field("cut_read", costs.cut_read);
      json.field("refused", costs.refused).field("repairs", costs.repairs).field("repaired", costs.repaired);
      json.field("constrained", costs.constrained);
      if (costs.thinking_tokens > 0) json.field("thinking_tokens", costs.thinking_tokens);
      const auto broken = ungoverned().find(purpose);
      if (broken != ungoverned().end()) json.field("grammar_broken", broken->second);
      json.end_object();
    }
    json.end_object();
    if (!probes.empty()) write_probes(json);
    if (!trees.first_unread.empty()) write_first_unread(json);
    json.key("pruned").begin_object();
    for (std::size_t reason = 1; reason < trees.pruned.size(); ++reason)
      json.field(output::detail::name(static_cast<Reason>(reason)), trees.pruned[reason]);
    json.end_object();
    std::map<std::string, std::string> all = notes;
    if (std::string warning = exploration_warning(trees.choices, trees.explored); !warning.empty())
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
  using Scores = std::array<double, 3>;  ///< em, f1, acc

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
    for (const auto& [purpose, first] : trees.first_unread) {
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
  std::size_t null_predictions_ = 0, questions_ = 0;
  Scores scores_{};                        ///< sums over the first questions_, in their order
  std::map<std::size_t, Scores> waiting_;  ///< for an earlier question's row
  bool scored_ = false;
};

}  // namespace espalier::run::detail
