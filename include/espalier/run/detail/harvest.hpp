#pragma once

#include <espalier/backend/http/fleet.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/method/method.hpp>
#include <espalier/output/answers.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/tree_json.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/summary.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/run/work_folder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// What a run's questions contribute as they end: their parts of each file in order, the summary, and how far it is.
class Harvest {
 public:
  Summary summary;
  std::size_t unknown_tokens = 0;  ///< sampled texts whose tokens are to be kept and are not known

  /// `places`: of the questions in the whole run. The files are made in `folder`, where nothing is visible before
  /// commit(). The settings, the questions and the method must outlive it.
  Harvest(const Settings& settings, const std::vector<rag::Example>& examples, const std::vector<std::size_t>& places,
          method::Method& method, const std::filesystem::path& folder)
      : settings_(settings),
        examples_(examples),
        places_(places),
        options_(method.options().json()),
        answers_(settings.task == Settings::Task::answer || method.answers()),
        products_(settings.task == Settings::Task::answer ? std::vector<method::Product>() : method.products()) {
    for (const char* name : {"trees.jsonl", "answers.jsonl", "costs.jsonl"}) files_.emplace_back(folder / name);
    for (const method::Product& product : products_) files_.emplace_back(folder / product.file);
    if (settings.journal.keep_tokens && settings.task != Settings::Task::annotate)
      files_.emplace_back(folder / "tokens.jsonl");
  }

  /// Takes a question's tree, or the failure that leaves the question open.
  void take(std::size_t index, Outcome<rag::Tree> outcome, double seconds) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const rag::Example& example = examples_[index];
    Ended ended;
    std::vector<std::string>& parts = ended.parts;
    parts.resize(files_.size());
    output::detail::AnswerRow& row = ended.row;
    const Ledger::Execution& execution = ended.ledger.execution;
    if (outcome.ok()) {
      const rag::Tree tree = std::move(outcome).value();
      const output::TreeRecord record{tree, settings_.method, settings_.seed, options_};
      output::append_tree(record, parts[0]);
      row = output::detail::answer_row(record, example.gold.empty() ? nullptr : &example.gold);
      ended.ledger = tree.ledger;
      if (trouble_.empty() && !execution.ungoverned.empty()) {
        const std::string& purpose = execution.ungoverned.begin()->first;
        trouble_ = ignored(server_of(purpose), purpose);
      }
      for (std::size_t i = 0; i < products_.size(); ++i) products_[i].rows(record, parts[3 + i]);
      const auto none = [](const std::string& rows) { return rows.empty(); };
      const bool annotated = !tree.annotation_costs.empty();  // else rows may come later
      if (!answers_) output::detail::judge_by_data(row, annotated && std::all_of(parts.begin() + 3, parts.end(), none));
      if (parts.size() > 3 + products_.size()) add_tokens(tree, parts.back());
      summary.count(tree);
      const auto best = output::best_answer(tree);
      reward_ += best ? best->value : 0;
      tokens_ += row.costs->prompt_tokens + row.costs->completion_tokens;
    } else {
      row = output::detail::open_row(example.question, outcome.error());
      if (trouble_.empty() && settings_.journal.batch_file.empty())
        trouble_ = fmt::format("question '{}' is open: {}", example.question.id, row.error);
    }
    output::detail::append_answer_row(row, parts[1]);
    JsonWriter json(parts[2]);
    json.begin_object().field("id", example.question.id).field("place", places_[index]);
    json.field("started", now - seconds).field("seconds", seconds);
    json.field("cached", execution.cached).field("attempts", execution.attempts);
    if (!execution.prompts.empty()) {
      Ledger::Execution::Prompts sum;
      for (const auto& [purpose, told] : execution.prompts) sum.reused += told.reused, sum.read += told.read;
      json.field("reused_tokens", sum.reused).field("read_tokens", sum.read);
    }
    json.end_object();
    parts[2] += '\n';
    ++done_;
    waiting_.emplace(index, std::move(ended));
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == written_; next = waiting_.erase(next))
      write(next->second);
  }
  void commit() {
    for (AtomicFile& file : files_) file.commit();
  }

  /// Why the first open question is open, in the order of the questions. "" = none is.
  [[nodiscard]] const std::string& why_open() const { return why_open_; }

  /// What the summary says of servers that ignored grammars, in an order that does not depend on time.
  [[nodiscard]] std::vector<std::string> broken_grammars() const {
    std::map<std::string, std::string> prompts;  // by server
    for (const auto& [purpose, count] : summary.ungoverned()) {
      std::string& list = prompts[server_of(purpose)];
      list += (list.empty() ? "" : ", ") + purpose;
    }
    std::vector<std::string> all;
    for (const auto& [server, list] : prompts) all.push_back(ignored(server, list));
    return all;
  }

  /// How far the run is. `news`: what is wrong with a server, "" = nothing.
  [[nodiscard]] Progress progress(std::uint64_t calls, double seconds, const std::string& news) const {
    const double reward = done_ ? reward_ / static_cast<double>(done_) : 0;
    return {done_, examples_.size(), calls, tokens_, reward, seconds, news.empty() ? trouble_ : news};
  }

 private:
  /// A question that waits for earlier ones.
  struct Ended {
    std::vector<std::string> parts;  ///< one per file
    output::detail::AnswerRow row;
    Ledger ledger;
  };
  void write(const Ended& next) {
    for (std::size_t i = 0; i < files_.size(); ++i) files_[i].write(next.parts[i]);
    summary.add(next.row, next.ledger);
    if (next.row.status == "open" && why_open_.empty()) why_open_ = next.row.error;
    ++written_;
  }
  /// Adds a row for each text of the nodes, and then of the rollouts, whose tokens are known.
  void add_tokens(const rag::Tree& tree, std::string& out) {
    using Rollout = std::optional<std::size_t>;
    const auto add = [&](NodeId node, Rollout rollout, std::size_t at, const rag::ModelText::Source* source) {
      unknown_tokens += source && source->sampled.ids.empty();
      if (!source || source->sampled.ids.empty()) return;
      JsonWriter json(out);
      json.begin_object().field("id", tree.state(tree.root()).question().id).field("node", node);
      json.field("rollout", rollout).field("at", at).field("purpose", source->purpose);
      json.key("ids").array(source->sampled.ids).key("logprobs").array(source->sampled.logprobs).end_object();
      out += '\n';
    };
    const auto add_all = [&](NodeId node, Rollout rollout, NodeId from, const rag::State& end) {
      const auto segments = end.transcript().since(tree.state(from).transcript());
      for (std::size_t at = 0; at < segments.size(); ++at)
        if (const auto* text = segments[at]->model_text()) add(node, rollout, at, text->source().get());
      if (segments.empty() && !rollout) add(node, rollout, 0, tree.action(node).source.get());  // closed at birth
    };
    for (NodeId id = 1; id < tree.size(); ++id) add_all(id, std::nullopt, tree[id].parent, tree.state(id));
    for (std::size_t i = 0; i < tree.rollouts.size(); ++i)
      add_all(tree.rollouts[i].node, i, tree.rollouts[i].node, tree.rollouts[i].state);
  }
  /// A server that takes a grammar and writes something else has ignored it. `prompts` are the names of purposes.
  [[nodiscard]] std::string ignored(const std::string& server, const std::string& prompts) const {
    return fmt::format(
        "{}: replies to {} break the grammar that was sent, so the server seems to ignore grammars; name its sort by "
        "--server, or go without by --constrain off",
        server, prompts);
  }
  [[nodiscard]] std::string server_of(const std::string& purpose) const {
    const std::string url = settings_.model_for(purpose).model;
    return is_url(url) ? backend::detail::shown_address(url) : url;
  }

  const Settings& settings_;
  const std::vector<rag::Example>& examples_;
  const std::vector<std::size_t>& places_;
  std::string options_;  ///< the search options as JSON
  bool answers_;         ///< else questions are judged by their data
  std::vector<method::Product> products_;
  std::vector<AtomicFile> files_;
  std::map<std::size_t, Ended> waiting_;
  std::string why_open_;
  std::size_t written_ = 0;  ///< questions, the first ones
  std::size_t done_ = 0;
  std::uint64_t tokens_ = 0;
  double reward_ = 0;
  std::string trouble_;  ///< of a server or of the first open question, except one that waits for a batch
};

}  // namespace espalier::run::detail
