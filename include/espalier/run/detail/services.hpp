#pragma once

#include <espalier/backend/http/fleet.hpp>
#include <espalier/backend/journal.hpp>
#include <espalier/backend/journal/store.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/scheduler.hpp>
#include <espalier/fmt/ledger.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/retrievers.hpp>
#include <espalier/run/settings.hpp>
#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The path of a run's journal.
inline std::string journal_file(const Settings& settings, const std::filesystem::path& folder) {
  return settings.journal.file.empty() ? (folder / "journal.sqlite").string() : settings.journal.file;
}

/// The journal of a run. All backends share one store.
class RunJournal {
 public:
  /// `run` is the name that the journal gives for who paid its new records. Throws MissingPart without SQLite, and
  /// InputError for a replay without a file.
  RunJournal(const Settings& settings, const std::filesystem::path& folder, [[maybe_unused]] const std::string& run)
      : keep_(settings.journal.keep), replay_(settings.journal.replay) {
    if (!keep_) return;
    const std::string file = journal_file(settings, folder);
    if (replay_ && !std::filesystem::exists(file)) throw InputError(file, 0, "", "there is no journal to replay");
#ifdef ESPALIER_HAS_SQLITE
    store_ = std::make_shared<backend::SqliteStore>(file, replay_ ? "" : run);
#else
    throw MissingPart("the journal (go without by --no-journal)", "libsqlite3-dev");
#endif
  }

  /// Puts a backend behind the journal if its answers are worth it. A backend without a fingerprint gets a journal that
  /// lives only as long as the process. A replay answers only from the journal.
  template <class In, class Out>
  Backend<In, Out> operator()(Backend<In, Out> backend) const {
    if (replay_) {
      backend.transport = nullptr;
      backend.fleet = nullptr;
    }
    if (!keep_ || !backend.remote) return backend;
    std::shared_ptr<backend::Store> store = backend.fingerprint ? store_ : std::make_shared<backend::MemoryStore>();
    const Hash fingerprint = backend.fingerprint.value_or(Hash());
    std::unique_ptr<Service<In, Out>> asked = replay_ ? nullptr : std::move(backend.service);
    auto journal =
        std::make_unique<backend::Journaled<In, Out>>(std::move(asked), std::move(store), fingerprint, backend.label);
    backend.journal = &journal->accounts();
    backend.service = std::move(journal);
    return backend;
  }

 private:
  bool keep_, replay_;
  std::shared_ptr<backend::Store> store_;
};

/// Combines a port's counts with those of its journal. Throws Error if they do not balance (docs page "contracts").
inline Accounts balanced(Accounts port, const Accounts* journal, const Accounts* transport = nullptr) {
  const std::uint64_t answered = port.logical - port.shared - port.failed;
  port.cached = journal ? journal->cached : 0;
  port.paid_applied = journal ? journal->paid_applied : answered;
  port.paid_cancelled = (journal ? journal->paid_cancelled : 0) + (transport ? transport->paid_cancelled : 0);
  port.paid_failed = transport ? transport->paid_failed : 0;
  port.requests = transport ? transport->requests : 0;
  if (port.logical != port.paid_applied + port.cached + port.shared + port.failed)
    throw Error(fmt::format("the accounts of the run do not balance: {}", port));
  return port;
}

/// DIR/accounts.json: how a run's requests were answered. This is a matter of execution, so it is separate from the
/// results.
inline std::string accounts_json(const std::vector<std::pair<const char*, Accounts>>& all,
                                 const std::vector<std::shared_ptr<const backend::detail::HttpFleet>>& fleets) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto& [name, a] : all) {
    json.key(name).begin_object().field("logical", a.logical).field("paid_applied", a.paid_applied);
    json.field("cached", a.cached)
        .field("shared", a.shared)
        .field("failed", a.failed)
        .field("paid_cancelled", a.paid_cancelled);
    json.field("paid_failed", a.paid_failed).field("requests", a.requests).end_object();
  }
  json.key("endpoints").begin_array();
  for (const auto& fleet : fleets)
    for (std::size_t i = 0; i < fleet->size(); ++i) {
      const backend::detail::HttpFleet::Figures& f = fleet->figures(i);
      json.begin_object().field("url", fleet->shown(i)).field("requests", f.requests);
      json.field("failures", f.failures).field("rests", f.rests);
      json.field("window", fleet->window(i).width()).field("latency", f.latency).end_object();
    }
  json.end_array().end_object();
  out += '\n';
  return out;
}

/// The services of a run's searches, each behind the run's journal and on a port of the scheduler, and their counts.
class Services {
 public:
  /// `known` are the questions that a simulated model knows.
  Services(Scheduler& scheduler, const Settings& settings, const std::vector<rag::Example>& known,
           const sim::Skills& skills, const Lexical& lexical, const RunJournal& journal)
      : Services(scheduler, settings,
                 journal(make_model(settings.model.url, settings.model.name, settings.endpoints_for(""), settings,
                                    known, skills)),
                 journal(make_retriever(settings, lexical))) {
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
                          {"retriever", balanced(ports.retriever.accounts(), retriever_journal_)},
                          {"encoder", encoders}},
                         fleets_);
  }

  method::Ports ports;
  std::string model_label, retriever_label;

 private:
  Services(Scheduler& scheduler, const Settings& settings, ModelBackend model, RetrieverBackend retriever)
      : ports(scheduler.model(std::move(model.service), at_once(settings)),
              scheduler.retriever(std::move(retriever.service), settings.execution.in_flight)),
        model_label(model.label),
        retriever_label(std::move(retriever.label)),
        main_label_(std::move(model.label)),
        retriever_journal_(retriever.journal) {
    add(ports.model, model);
  }
  void add(const ModelPort& port, const ModelBackend& model) {
    models_.push_back({port, model.journal, model.transport});
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
    encoders_.emplace_back(scheduler.encoder(std::move(kept.service), settings.execution.in_flight), kept.journal);
    return encoders_.back().first;
  }

  std::string main_label_;
  const Accounts* retriever_journal_;
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
