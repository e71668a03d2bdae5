#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/journaling.hpp>
#include <espalier/run/detail/retrievers.hpp>
#include <espalier/run/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The services of a run's searches, each behind the run's journal and on a port of the scheduler, and their counts.
class Services {
 public:
  /// `known` are the questions that a simulated model knows.
  Services(Scheduler& scheduler, const Settings& settings, const std::vector<rag::Example>& known,
           const sim::Skills& skills, const Lexical& lexical, const RunJournal& journal)
      : Services(
            scheduler, settings, journal,
            make_model(settings.model.url, settings.model.name, settings.endpoints_for(""), settings, known, skills),
            make_retriever(settings, lexical)) {
    for (const Settings::ModelFor& other : settings.model.others) {
      auto backend =
          journal(make_model(other.model, other.name, settings.endpoints_for(other.purpose), settings, known, skills));
      ports.models.insert_or_assign(other.purpose, scheduler.model(std::move(backend.service), at_once(settings)));
      add(ports.models.at(other.purpose), backend);
      if (backend.label != main_label_) model_label += fmt::format(", {}: {}", other.purpose, backend.label);
    }
    if (!settings.encoder.url.empty()) ports.encoder = encoder(scheduler, make_encoder(settings), settings, journal);
    ports.value_head = settings.values.head;
    if (!settings.values.server.empty())
      ports.values = encoder(scheduler, make_value_server(settings), settings, journal);
  }

  /// Completions applied so far.
  [[nodiscard]] std::uint64_t calls() const {
    std::uint64_t sum = 0;
    for (const auto& [port, journal, transport] : models_) sum += port.accounts().logical;
    return sum;
  }
  /// Whether a model has answered a question.
  [[nodiscard]] bool answered() const {
    return std::any_of(models_.begin(), models_.end(), [](const Model& model) {
      const Accounts& of = model.port.accounts();
      return of.logical > of.failed;
    });
  }
  /// The content of accounts.json. Throws Error if accounts do not balance.
  [[nodiscard]] std::string accounts() const {
    Accounts models, encoders;
    for (const auto& [port, journal, transport] : models_) models += balanced(port.accounts(), journal, transport);
    for (const auto& [port, journal] : encoders_) encoders += balanced(port.accounts(), journal);
    return accounts_json({{"model", models},
                          {"retriever", balanced(ports.retriever.accounts(), retriever_accounts_)},
                          {"encoder", encoders}},
                         fleets_);
  }

  method::Ports ports;
  std::string model_label, retriever_label;

 private:
  Services(Scheduler& scheduler, const Settings& settings, const RunJournal& journal, ModelBackend model,
           RetrieverBackend retriever)
      : Services(scheduler, settings, journal(std::move(model)), journal(std::move(retriever))) {}
  Services(Scheduler& scheduler, const Settings& settings, RunBackend<Prompt, Completion> model,
           RunBackend<Query, Passages> retriever)
      : ports(scheduler.model(std::move(model.service), at_once(settings)),
              scheduler.retriever(std::move(retriever.service), settings.execution.in_flight)),
        model_label(model.label),
        retriever_label(std::move(retriever.label)),
        main_label_(std::move(model.label)),
        retriever_accounts_(retriever.accounts) {
    add(ports.model, model);
  }
  void add(const ModelPort& port, const RunBackend<Prompt, Completion>& model) {
    models_.push_back({port, model.accounts, model.transport});
    if (model.fleet) fleets_.push_back(model.fleet);
  }
  /// Requests to a model at once. A batch file takes all of them: requests waiting behind a limit would be lost with
  /// their trees.
  static std::size_t at_once(const Settings& settings) {
    return settings.journal.batch_file.empty() ? settings.execution.in_flight : Scheduler::unlimited;
  }
  EncoderPort encoder(Scheduler& scheduler, EncoderBackend backend, const Settings& settings,
                      const RunJournal& journal) {
    auto kept = journal(std::move(backend));
    encoders_.emplace_back(scheduler.encoder(std::move(kept.service), settings.execution.in_flight), kept.accounts);
    return encoders_.back().first;
  }

  std::string main_label_;
  const Accounts* retriever_accounts_;
  struct Model {
    ModelPort port;
    const Accounts* journal;
    const Accounts* transport;
  };
  std::vector<Model> models_;
  std::vector<std::shared_ptr<const backend::detail::HttpFleet>> fleets_;
  std::vector<std::pair<EncoderPort, const Accounts*>> encoders_;
};

}  // namespace espalier::run::detail
