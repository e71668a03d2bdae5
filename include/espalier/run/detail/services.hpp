#pragma once

#include <espalier/backend/journal.hpp>
#include <espalier/llm/scheduler.hpp>
#include <espalier/method/method.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/detail/retrievers.hpp>
#include <espalier/run/work_folder.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/openai.hpp>
#endif
#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::run::detail {

inline std::string journal_file(const Settings& settings, const std::filesystem::path& folder) {
  return settings.journal.file.empty() ? (folder / "journal.sqlite").string() : settings.journal.file;
}

/// The journal of a run. All backends share one store.
class RunJournal {
 public:
  /// `run` is the name that the journal gives for who paid its new records. Throws MissingPart without SQLite, and
  /// InputError for a replay without a file. `dry`: makes no file and keeps nothing.
  RunJournal(const Settings& settings, const std::filesystem::path& folder, [[maybe_unused]] const std::string& run,
             bool dry = false)
      : keep_(settings.journal.keep), replay_(settings.journal.replay) {
    if (!keep_) return;
    const std::string file = journal_file(settings, folder);
    if (replay_ && !std::filesystem::exists(file)) throw InputError(file, 0, "", "there is no journal to replay");
    keep_ = !dry;
#ifdef ESPALIER_HAS_SQLITE
    if (!std::filesystem::exists(file) && !settings.journal.file.empty() &&
        !takes_files(std::filesystem::absolute(file).parent_path()))
      throw backend::StoreError(file + ": is in no folder that can be written to: " + std::strerror(errno));
    if (!dry) store_ = std::make_shared<backend::SqliteStore>(file, replay_ ? "" : run);
    else if (std::filesystem::exists(file)) backend::SqliteStore::check(file);
#else
    throw MissingPart("the journal (go without by --no-journal)", "libsqlite3-dev");
#endif
  }

  /// Puts a backend behind the journal if its answers are worth it. A backend without a fingerprint gets a journal that
  /// lives only as long as the process. A replay answers only from the journal.
  template <class In, class Out>
  Backend<In, Out> operator()(Backend<In, Out> backend) const {
#ifdef ESPALIER_HAS_CURL
    if constexpr (std::is_same_v<Out, Completion>)
      if (const auto* client = dynamic_cast<const backend::OpenAi*>(backend.service.get()); client && !replay_) {
        backend.transport = &client->accounts();
        backend.fleet = client->fleet();
      }
#endif
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

/// The counts of a port, of its journal and of the service itself, the latter two null = none.
struct Counted {
  const Accounts *port, *journal, *transport;
};

/// The sums of all these counts. Throws Error if those of a port do not balance (docs page "contracts").
inline Accounts balanced(const std::vector<Counted>& all) {
  Accounts sum;
  for (const auto& [port, journal, transport] : all) {
    Accounts one = *port;
    const std::uint64_t answered = one.logical - one.shared - one.failed;
    one.cached = journal ? journal->cached : 0;
    one.paid_applied = journal ? journal->paid_applied : answered;
    one.paid_cancelled = (journal ? journal->paid_cancelled : 0) + (transport ? transport->paid_cancelled : 0);
    one.paid_failed = transport ? transport->paid_failed : 0;
    one.renewed = journal ? journal->renewed : 0;
    one.replaced = transport ? transport->replaced : 0;
    one.requests = transport ? transport->requests : 0;
    if (one.logical != one.paid_applied + one.cached + one.shared + one.failed)
      throw Error("the accounts of the run do not balance");
    sum += one;
  }
  return sum;
}

/// DIR/accounts.json: how a run's requests were answered. A matter of execution, apart from results.
inline std::string accounts_json(const std::vector<std::pair<const char*, Accounts>>& all,
                                 const std::vector<std::shared_ptr<const backend::detail::HttpFleet>>& fleets) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto& [name, a] : all) {
    json.key(name).begin_object().field("logical", a.logical).field("paid_applied", a.paid_applied);
    json.field("cached", a.cached).field("shared", a.shared).field("failed", a.failed);
    json.field("paid_cancelled", a.paid_cancelled).field("paid_failed", a.paid_failed);
    json.field("requests", a.requests).field("renewed", a.renewed).field("replaced", a.replaced).end_object();
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
      : Services(scheduler, settings, journal(make_model(settings.models().front(), settings, known, skills)),
                 journal(make_retriever(settings, lexical))) {
    const std::string main = model_label;
    for (const Settings::ModelFor& other : settings.model.others) {
      auto backend = journal(make_model(other, settings, known, skills));
      ports.models.insert_or_assign(other.purpose,
                                    scheduler.model(std::move(backend.service), at_once(other.model, settings)));
      add(ports.models.at(other.purpose), backend);
      if (backend.label != main) model_label += fmt::format(", {}: {}", other.purpose, backend.label);
    }
    if (!settings.encoder.url.empty()) ports.encoder = encoder(scheduler, make_encoder(settings), settings, journal);
    ports.value_head = settings.values.head();
    if (settings.values.served()) ports.values = encoder(scheduler, make_value_server(settings), settings, journal);
  }

  /// Completions applied so far.
  [[nodiscard]] std::uint64_t calls() const {
    std::uint64_t sum = 0;
    for (const Counted& one : models_) sum += one.port->logical;
    return sum;
  }
  /// Whether a model has answered a question.
  [[nodiscard]] bool answered() const {
    return std::ranges::any_of(models_, [](const Counted& one) { return one.port->logical > one.port->failed; });
  }
  /// Failures that the journal held as answers of models.
  [[nodiscard]] std::uint64_t renewed() const { return balanced(models_).renewed; }
  /// The content of accounts.json. Throws Error if accounts do not balance.
  [[nodiscard]] std::string accounts() const {
    return accounts_json(
        {{"model", balanced(models_)}, {"retriever", balanced({retriever_})}, {"encoder", balanced(encoders_)}},
        fleets_);
  }

  method::Ports ports;
  std::string model_label, retriever_label;

 private:
  Services(Scheduler& scheduler, const Settings& settings, ModelBackend model, RetrieverBackend retriever)
      : ports(scheduler.model(std::move(model.service), at_once(settings.model.url, settings)),
              scheduler.retriever(std::move(retriever.service), settings.execution.in_flight)),
        model_label(model.label),
        retriever_label(retriever.label),
        retriever_(counted(ports.retriever, retriever)) {
    add(ports.model, model);
  }
  template <class In, class Out>
  static Counted counted(const Port<In, Out>& port, const Backend<In, Out>& backend) {
    return {&port.accounts(), backend.journal, backend.transport};
  }
  void add(const ModelPort& port, const ModelBackend& model) {
    models_.push_back(counted(port, model));
    if (model.fleet) fleets_.push_back(model.fleet);
  }
  /// Requests to a model at once. A batch file takes all, and a server's client, which has a limit and chooses in them.
  static std::size_t at_once(const std::string& model, const Settings& settings) {
    const bool all = is_model_server(model) || !settings.journal.batch_file.empty();
    return all ? Scheduler::unlimited : settings.execution.in_flight;
  }
  EncoderPort encoder(Scheduler& scheduler, EncoderBackend backend, const Settings& settings,
                      const RunJournal& journal) {
    auto kept = journal(std::move(backend));
    EncoderPort port = scheduler.encoder(std::move(kept.service), settings.execution.in_flight);
    encoders_.push_back(counted(port, kept));
    return port;
  }

  Counted retriever_;
  std::vector<Counted> models_, encoders_;
  std::vector<std::shared_ptr<const backend::detail::HttpFleet>> fleets_;
};

}  // namespace espalier::run::detail
