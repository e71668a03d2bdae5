#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/core/ledger.hpp>
#include <espalier/output/answers.hpp>
#include <espalier/rag/state.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace espalier::run {

/// What a run's summary.json counts. Scores are means over all questions of the run; an open question and a null
/// prediction count as 0 and are counted apart.
class Summary {
 public:
  std::string method, model, retriever;  ///< as results call them; "simulated" is such a name
  bool oracle = false;                   ///< trees were steered by gold answers
  std::size_t questions = 0;
  double seconds = 0;
  Accounts model_accounts, retriever_accounts;

  void add(const output::AnswerRow& row) {
    ++by_status_[row.status];
    null_predictions_ += row.status != "open" && !row.answer;
    if (row.em) {
      em_ += *row.em;
      f1_ += *row.f1;
      acc_ += *row.acc;
      scored_ = true;
    }
  }
  void add(const rag::Tree& tree) {
    ledger_ += tree.ledger;
    for (NodeId id = 1; id < tree.size(); ++id)
      if (tree[id].status == Status::pruned) ++pruned_[static_cast<std::size_t>(tree[id].reason)];
    pruned_[static_cast<std::size_t>(Reason::skipped)] += tree.skips.size();
    nodes_ += tree.size();
  }

  [[nodiscard]] std::size_t open() const { return count("open"); }
  [[nodiscard]] double mean_f1() const { return questions ? f1_ / static_cast<double>(questions) : 0; }

  [[nodiscard]] std::string json() const {
    const auto n = static_cast<double>(questions ? questions : 1);
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("method", method).field("model", model).field("simulated", model == "simulated").field("retriever", retriever);
    json.field("oracle", oracle).field("questions", questions);
    for (const char* status : {"done", "budget", "open", "failed"}) json.field(status, count(status));
    json.field("null_predictions", null_predictions_);
    for (const auto& [name, sum] : {std::pair{"em", em_}, std::pair{"f1", f1_}, std::pair{"acc", acc_}})
      if (scored_) json.field(name, sum / n);
      else json.key(name).null();
    const Costs total = ledger_.total();
    json.field("calls", total.completions).field("prompt_tokens", total.prompt_tokens).field("completion_tokens", total.completion_tokens);
    json.field("retrievals", total.retrievals).field("nodes", nodes_).key("by_purpose").begin_object();
    for (const auto& [purpose, costs] : ledger_.by_purpose()) {
      json.key(purpose).begin_object().field("calls", costs.completions).field("prompt_tokens", costs.prompt_tokens);
      json.field("completion_tokens", costs.completion_tokens).field("retrievals", costs.retrievals).end_object();
    }
    json.end_object().key("pruned").begin_object();
    for (std::size_t reason = 1; reason < pruned_.size(); ++reason) json.field(output::name(static_cast<Reason>(reason)), pruned_[reason]);
    json.end_object().key("accounts").begin_object();
    write(json, "model", model_accounts);
    write(json, "retriever", retriever_accounts);
    json.end_object().field("seconds", seconds).end_object();
    return out;
  }

 private:
  [[nodiscard]] std::size_t count(const std::string& status) const {
    const auto it = by_status_.find(status);
    return it == by_status_.end() ? 0 : it->second;
  }
  static void write(JsonWriter& json, const char* name, const Accounts& a) {
    json.key(name).begin_object().field("logical", a.logical).field("paid_applied", a.paid_applied).field("cached", a.cached);
    json.field("shared", a.shared).field("failed", a.failed).field("paid_cancelled", a.paid_cancelled).field("paid_failed", a.paid_failed);
    json.end_object();
  }

  std::map<std::string, std::size_t> by_status_;
  std::size_t null_predictions_ = 0, nodes_ = 0;
  double em_ = 0, f1_ = 0, acc_ = 0;
  bool scored_ = false;
  Ledger ledger_;
  std::array<std::uint64_t, 7> pruned_{};
};

}  // namespace espalier::run
