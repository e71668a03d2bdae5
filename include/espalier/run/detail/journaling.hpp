#pragma once

#include <espalier/backend/detail/http/fleet.hpp>
#include <espalier/backend/journal.hpp>
#include <espalier/backend/journal/store.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/fmt/ledger.hpp>
#include <espalier/run/backends.hpp>
#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>
#endif

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// A backend ready for a scheduler, behind a journal if the run has one.
template <class In, class Out>
class RunBackend {
 public:
  std::unique_ptr<Service<In, Out>> service;
  std::string label;
  const Accounts* accounts = nullptr;   ///< the journal's counts (as long as the scheduler lives), or null
  const Accounts* transport = nullptr;  ///< the counts of a server's client, or null
  std::shared_ptr<const backend::detail::HttpFleet> fleet = nullptr;  ///< the servers of a client
};

/// The path of a run's journal.
inline std::string journal_file(const Settings& settings, const std::filesystem::path& folder) {
  return settings.journal.file.empty() ? (folder / "journal.sqlite").string() : settings.journal.file;
}

/// The journal of a run. All backends share one store.
class RunJournal {
 public:
  /// `run` is the name under which the journal notes the records in use. Throws MissingPart without SQLite, and
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
  RunBackend<In, Out> operator()(Backend<In, Out> backend) const {
    RunBackend<In, Out> result;
    result.label = backend.label;
    result.service = std::move(backend.service);
    if (!replay_) {
      result.transport = backend.transport;
      result.fleet = std::move(backend.fleet);
    }
    if (!keep_ || !backend.remote) return result;
    std::shared_ptr<backend::Store> store = backend.fingerprint ? store_ : std::make_shared<backend::MemoryStore>();
    const Hash fingerprint = backend.fingerprint.value_or(Hash());
    std::unique_ptr<Service<In, Out>> asked = replay_ ? nullptr : std::move(result.service);
    auto journal =
        std::make_unique<backend::Journaled<In, Out>>(std::move(asked), std::move(store), fingerprint, result.label);
    result.accounts = &journal->accounts();
    result.service = std::move(journal);
    return result;
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
    json.key(name)
        .begin_object()
        .field("logical", a.logical)
        .field("paid_applied", a.paid_applied)
        .field("cached", a.cached);
    json.field("shared", a.shared).field("failed", a.failed).field("paid_cancelled", a.paid_cancelled);
    json.field("paid_failed", a.paid_failed).field("requests", a.requests).end_object();
  }
  json.key("endpoints").begin_array();
  for (const auto& fleet : fleets)
    for (std::size_t i = 0; i < fleet->size(); ++i) {
      const backend::detail::HttpFleet::Figures& f = fleet->figures(i);
      json.begin_object()
          .field("url", fleet->shown(i))
          .field("requests", f.requests)
          .field("failures", f.failures)
          .field("rests", f.rests);
      json.field("window", fleet->window(i).width()).field("latency", f.latency).end_object();
    }
  json.end_array();
  json.end_object();
  out += '\n';
  return out;
}

}  // namespace espalier::run::detail
