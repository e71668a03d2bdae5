#pragma once

#include <espalier/core/json_writer.hpp>
#include <espalier/method/method.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/detail/answers.hpp>
#include <espalier/run/detail/summary.hpp>
#include <espalier/run/settings.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/detail/http/endpoint.hpp>
#include <espalier/run/backends.hpp>
#endif

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// What the questions of a run contribute, as they end: their part of each file, the summary, and how far the run is.
class Harvest {
 public:
  Summary summary;

  /// `places`: of the questions in the whole run. The settings, the questions and the method must outlive it.
  Harvest(const Settings& settings, const std::vector<rag::Example>& examples, const std::vector<std::size_t>& places,
          method::Method& method)
      : settings_(settings),
        examples_(examples),
        places_(places),
        options_(method.options().json()),
        products_(settings.task == Settings::Task::answer ? std::vector<method::Product>() : method.products()) {}

  /// The names of the files.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names{"trees.jsonl", "answers.jsonl", "costs.jsonl"};
    for (const method::Product& product : products_) names.push_back(product.file);
    return names;
  }

  /// Takes a question's tree, or the failure that leaves the question open. Returns its part of each file.
  std::vector<std::string> take(std::size_t index, Outcome<rag::Tree> outcome, double seconds) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const rag::Example& example = examples_[index];
    std::vector<std::string> parts(3 + products_.size());
    output::detail::AnswerRow row;
    Ledger::Execution execution;
    if (outcome.ok()) {
      const rag::Tree tree = std::move(outcome).value();
      const output::TreeRecord record{tree, settings_.method, settings_.seed, options_};
      output::append_tree(record, parts[0]);
      row = output::detail::answer_row(record);
      execution = tree.ledger.execution;
      if (trouble_.empty() && !execution.ungoverned.empty()) {
        const std::string& purpose = execution.ungoverned.begin()->first;
        trouble_ = ignored(server_of(purpose), purpose);
      }
      for (std::size_t i = 0; i < products_.size(); ++i) products_[i].rows(record, parts[3 + i]);
      summary.add(index, tree);
      const auto best = output::best_answer(tree);
      reward_ += best ? best->value : 0;
      const Ledger::Costs costs = tree.ledger.total();
      tokens_ += costs.prompt_tokens + costs.completion_tokens;
    } else {
      row = output::detail::open_row(example.question, outcome.error());
      if (trouble_.empty() && settings_.journal.batch_file.empty())
        trouble_ = fmt::format("question '{}' is open: {}", example.question.id, row.error);
      errors_.emplace(index, row.error);
    }
    output::detail::append_answer_row(row, parts[1]);
    JsonWriter json(parts[2]);
    json.begin_object().field("id", example.question.id).field("place", places_[index]);
    json.field("started", now - seconds).field("seconds", seconds);
    json.field("cached", execution.cached).field("attempts", execution.attempts).end_object();
    parts[2] += '\n';
    summary.add(index, row);
    ++done_;
    return parts;
  }

  /// Completions that were paid early and that no search asked for.
  /// Why the first open question is open, in the order of the questions. "" = none is.
  [[nodiscard]] std::string why_open() const { return errors_.empty() ? "" : errors_.begin()->second; }

  /// What the summary says of servers that ignored grammars, in an order that does not depend on time. "" = nothing.
  [[nodiscard]] std::string broken_grammars() const {
    std::map<std::string, std::string> prompts;  // by server
    for (const auto& [purpose, count] : summary.ungoverned()) {
      std::string& list = prompts[server_of(purpose)];
      list += (list.empty() ? "" : ", ") + purpose;
    }
    std::string all;
    for (const auto& [server, list] : prompts) all += (all.empty() ? "" : "; ") + ignored(server, list);
    return all;
  }

  /// How far the run is. `news`: what is wrong with a server, "" = nothing.
  [[nodiscard]] Progress progress(std::uint64_t calls, double seconds, const std::string& news) const {
    const double reward = done_ ? reward_ / static_cast<double>(done_) : 0;
    return {done_, examples_.size(), calls, tokens_, reward, seconds, news.empty() ? trouble_ : news};
  }

 private:
  /// A server that takes a grammar and writes something else has ignored it. `prompts` are the names of purposes.
  [[nodiscard]] std::string ignored(const std::string& server, const std::string& prompts) const {
    return fmt::format(
        "{}: replies to {} break the grammar that was sent, so the server seems to ignore grammars; name its sort by "
        "--server, or go without by --constrain off",
        server, prompts);
  }
  [[nodiscard]] std::string server_of(const std::string& purpose) const {
    std::string url = settings_.model.url;
    for (const Settings::ModelFor& other : settings_.model.others)
      if (other.purpose == purpose) url = other.model;
#ifdef ESPALIER_HAS_CURL
    if (is_url(url)) return backend::detail::Url(url).shown();
#endif
    return url;
  }

  const Settings& settings_;
  const std::vector<rag::Example>& examples_;
  const std::vector<std::size_t>& places_;
  std::string options_;  ///< the search options as JSON
  std::vector<method::Product> products_;
  std::map<std::size_t, std::string> errors_;  ///< of the open questions
  std::size_t done_ = 0;
  std::uint64_t tokens_ = 0;
  double reward_ = 0;
  std::string trouble_;  ///< of a server or of the first open question, except one that waits for a batch
};

}  // namespace espalier::run::detail
