#pragma once

#include <espalier/backend/detail/journal/file.hpp>
#include <espalier/backend/detail/journal/row.hpp>
#include <espalier/backend/journal/store.hpp>

#include <ctime>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A store in a journal file. If the process is killed, everything that put() returned is kept.
class SqliteStore final : public Store {
 public:
  /// Opens or creates the file. Records are marked as paid by this `run` ("" = none). The records that it finds are
  /// noted after every 4,096 of them and at the end. Throws StoreError that names the file.
  explicit SqliteStore(std::string file, const std::string& run = "")
      : file_(std::move(file), detail::JournalFile::Open::or_create) {
    const std::string columns = detail::JournalRow::columns;
    select_ = file_.prepare("SELECT id, " + columns + " FROM record WHERE key = ?1");
    insert_ =
        file_.prepare("INSERT OR IGNORE INTO record (" + columns + ") VALUES (" + detail::JournalRow::places + ")");
    insert_request_ = file_.prepare("INSERT INTO request (request_checksum, json) VALUES (?1, ?2)");
    if (run.empty()) return;
    use_ = file_.prepare(
        "INSERT INTO used (run, record, hits) VALUES (?1, ?2, ?3) "
        "ON CONFLICT DO UPDATE SET hits = hits + excluded.hits");
    const detail::JournalFile::Statement enter = file_.prepare("INSERT OR IGNORE INTO run (name) VALUES (?1)");
    const detail::JournalFile::Statement look_up = file_.prepare("SELECT id FROM run WHERE name = ?1");
    for (sqlite3_stmt* statement : {enter.get(), look_up.get()}) {
      sqlite3_bind_text64(statement, 1, run.data(), run.size(), SQLITE_STATIC, SQLITE_UTF8);
      file_.step(statement);
    }
    run_ = sqlite3_column_int64(look_up.get(), 0);
  }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;
  ~SqliteStore() override {
    try {
      note_uses();
    } catch (const StoreError&) {  // these counts are only for people
    }
  }

  [[nodiscard]] std::optional<std::string> find(Hash key) override {
    std::optional<Found> found = read(key);
    if (!found) return std::nullopt;
    if (run_) ++uses_[found->id];
    if (uses_.size() >= most_uses) note_uses();
    return std::move(found->value);
  }

  std::vector<std::string> put(const std::vector<Record>& records) override {
    std::vector<std::string> stored;
    if (records.empty()) return stored;
    stored.reserve(records.size());
    if (requests_.size() >= most_requests) requests_.clear();
    try {
      detail::JournalFile::Transaction transaction(file_);
      for (const Record& record : records) stored.push_back(insert(record));
      transaction.commit();
    } catch (...) {
      requests_.clear();  // those of this transaction are not in the file
      throw;
    }
    return stored;
  }

  [[nodiscard]] const std::string& name() const override { return file_.name(); }

 private:
  using Reset = detail::JournalFile::Reset;
  static constexpr std::size_t most_uses = 4096, most_requests = 4096;

  struct Found {
    sqlite3_int64 id;
    std::string value;
  };
  std::optional<Found> read(Hash key) {
    const Reset reset(select_.get());
    detail::bind_key(select_.get(), 1, key);
    if (!file_.step(select_.get())) return std::nullopt;
    const detail::JournalRow row(select_.get(), 1);
    row.check(name());
    return Found{sqlite3_column_int64(select_.get(), 0), std::string(row.value)};
  }

  /// Inserts a record. Returns the value that is stored under its key afterwards.
  std::string insert(const Record& record) {
    const sqlite3_int64 request = record.note.request ? id_of(*record.note.request) : 0;
    const Reset reset(insert_.get());
    detail::JournalRow(record, request, run_, static_cast<std::uint64_t>(std::time(nullptr))).bind(insert_.get());
    file_.step(insert_.get());
    if (file_.changed()) return record.value;
    Found older = read(record.key).value();  // another process was first
    if (run_) uses_.try_emplace(older.id, 0);
    return std::move(older.value);
  }
  /// The request's id in the file. Writes it unless this process has done so recently.
  sqlite3_int64 id_of(const detail::RequestText& request) {
    const auto [known, fresh] = requests_.try_emplace(request.hash, 0);
    if (!fresh) return known->second;
    const Reset reset(insert_request_.get());
    sqlite3_bind_int64(insert_request_.get(), 1, static_cast<sqlite3_int64>(request.hash.low));
    sqlite3_bind_blob64(insert_request_.get(), 2, request.json.data(), request.json.size(), SQLITE_STATIC);
    file_.step(insert_request_.get());
    return known->second = file_.last_id();
  }
  void note_uses() {
    if (uses_.empty()) return;
    detail::JournalFile::Transaction transaction(file_);
    for (const auto& [record, hits] : uses_) {
      const Reset reset(use_.get());
      sqlite3_bind_int64(use_.get(), 1, run_);
      sqlite3_bind_int64(use_.get(), 2, record);
      sqlite3_bind_int64(use_.get(), 3, hits);
      file_.step(use_.get());
    }
    transaction.commit();
    uses_.clear();
  }

  detail::JournalFile file_;
  detail::JournalFile::Statement select_, insert_, insert_request_, use_;
  sqlite3_int64 run_ = 0;
  std::unordered_map<sqlite3_int64, std::uint32_t> uses_;  ///< hits by record since the last note
  std::unordered_map<Hash, sqlite3_int64> requests_;       ///< ids of the last requests written
};

}  // namespace espalier::backend
