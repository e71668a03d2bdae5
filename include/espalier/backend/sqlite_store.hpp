#pragma once

#include <espalier/backend/store.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace espalier::backend {

/// A store in one SQLite file (and its -wal and -shm beside it), safe between processes on a local file system.
/// A killed process loses nothing that put() returned; a torn end of the log is dropped when the file is opened again.
class SqliteStore final : public Store {
 public:
  static constexpr int schema_version = 1;

  /// Opens the file, or creates it. Throws StoreError that names the file if it cannot be used.
  explicit SqliteStore(std::string file) : file_(std::move(file)) {
    sqlite3* connection = nullptr;
    const int code = sqlite3_open_v2(file_.c_str(), &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(connection);
    if (code != SQLITE_OK) fail();
    sqlite3_extended_result_codes(db_.get(), 1);
    sqlite3_busy_timeout(db_.get(), busy_milliseconds);
    use_log();
    run("PRAGMA synchronous = NORMAL");
    Transaction transaction(*this);
    if (number("PRAGMA application_id") == 0 && number("SELECT count(*) FROM sqlite_master") == 0) create_schema();
    check_schema();
    transaction.commit();
    select_ = prepare("SELECT kind, value, checksum FROM record WHERE key = ?1");
    insert_ = prepare("INSERT OR IGNORE INTO record (key, kind, value, checksum) VALUES (?1, ?2, ?3, ?4)");
  }

  [[nodiscard]] std::optional<std::string> find(Hash key) override {
    const Reset reset(select_.get());
    bind_key(select_.get(), key);
    if (!step(select_.get())) return std::nullopt;
    const auto kind = sqlite3_column_int64(select_.get(), 0);
    const void* blob = sqlite3_column_blob(select_.get(), 1);  // null if empty
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(select_.get(), 1));
    std::string value = blob ? std::string(static_cast<const char*>(blob), size) : std::string();
    if (sqlite3_column_int64(select_.get(), 2) != checksum(key, static_cast<std::uint64_t>(kind), value))
      throw StoreError(file_ + ": record " + key.hex() + " is damaged: its checksum does not match");
    return value;
  }

  std::vector<std::string> put(const std::vector<Record>& records) override {
    std::vector<std::string> stored;
    if (records.empty()) return stored;
    stored.reserve(records.size());
    Transaction transaction(*this);
    for (const Record& record : records)
      stored.push_back(insert(record) ? record.value : find(record.key).value());
    transaction.commit();
    return stored;
  }

  [[nodiscard]] const std::string& name() const override { return file_; }

 private:
  static constexpr int busy_milliseconds = 5000;
  static constexpr sqlite3_int64 application_id = 0x45737061;  // "Espa"

  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  /// Ends a statement's use, so that it holds no lock and no snapshot.
  class Reset {
   public:
    explicit Reset(sqlite3_stmt* statement) : statement_(statement) {}
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;
    ~Reset() { sqlite3_reset(statement_); }

   private:
    sqlite3_stmt* statement_;
  };

  /// Takes the write lock; rolls back unless committed.
  class Transaction {
   public:
    explicit Transaction(SqliteStore& store) : store_(store) { store_.run("BEGIN IMMEDIATE"); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
      if (open_) sqlite3_exec(store_.db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
    void commit() {
      store_.run("COMMIT");
      open_ = false;
    }

   private:
    SqliteStore& store_;
    bool open_ = true;
  };

  static sqlite3_int64 checksum(Hash key, std::uint64_t kind, std::string_view value) {
    return static_cast<sqlite3_int64>(Hasher().add(key).add(kind).add(value).finish().low);
  }

  bool insert(const Record& record) {
    const Reset reset(insert_.get());
    bind_key(insert_.get(), record.key);
    const auto kind = static_cast<std::uint64_t>(record.kind);
    sqlite3_bind_int64(insert_.get(), 2, static_cast<sqlite3_int64>(kind));
    if (sqlite3_bind_blob64(insert_.get(), 3, record.value.data(), record.value.size(), SQLITE_STATIC) != SQLITE_OK) fail();
    sqlite3_bind_int64(insert_.get(), 4, checksum(record.key, kind, record.value));
    step(insert_.get());
    return sqlite3_changes(db_.get()) == 1;
  }

  static void bind_key(sqlite3_stmt* statement, Hash key) {
    std::array<unsigned char, 16> bytes{};  // big-endian, as key.hex() reads
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[7 - i] = static_cast<unsigned char>(key.high >> (8 * i));
      bytes[15 - i] = static_cast<unsigned char>(key.low >> (8 * i));
    }
    sqlite3_bind_blob(statement, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  }

  /// Two processes that create one file at once can meet in this switch, where SQLite does not wait by itself.
  void use_log() {
    int code = SQLITE_BUSY;
    for (int waited = 0; code == SQLITE_BUSY && waited <= busy_milliseconds; waited += 10) {
      if (waited) sqlite3_sleep(10);
      code = 0xff & sqlite3_exec(db_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    }
    if (code != SQLITE_OK) fail();
    const Statement mode = prepare("PRAGMA journal_mode");
    step(mode.get());
    if (std::strcmp(reinterpret_cast<const char*>(sqlite3_column_text(mode.get(), 0)), "wal") != 0)
      throw StoreError(file_ + ": no write-ahead log is possible there: the journal needs a local file system");
  }

  void create_schema() {
    run("CREATE TABLE record (key BLOB NOT NULL, kind INTEGER NOT NULL, value BLOB NOT NULL, checksum INTEGER NOT NULL)");
    run("CREATE UNIQUE INDEX record_key ON record (key)");
    run("PRAGMA application_id = " + std::to_string(application_id));
    run("PRAGMA user_version = " + std::to_string(schema_version));
  }

  void check_schema() {
    if (number("PRAGMA application_id") != application_id)
      throw StoreError(file_ + ": is an SQLite database, but not a journal of Espalier");
    const auto version = number("PRAGMA user_version");
    if (version != schema_version)
      throw StoreError(file_ + ": is a journal of schema version " + std::to_string(version) + ", this build reads " +
                       std::to_string(schema_version));
  }

  Statement prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail();
    return Statement(statement);
  }
  /// True if there is a row.
  bool step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    return code == SQLITE_ROW;
  }
  void run(const std::string& sql) { step(prepare(sql).get()); }
  sqlite3_int64 number(const std::string& sql) {
    const Statement statement = prepare(sql);
    step(statement.get());
    return sqlite3_column_int64(statement.get(), 0);
  }

  /// Throws what SQLite last said, in terms of the file.
  [[noreturn]] void fail() {
    const std::string reason = sqlite3_errmsg(db_.get());
    switch (0xff & sqlite3_errcode(db_.get())) {
      case SQLITE_NOTADB: throw StoreError(file_ + ": is not a journal: it is no SQLite database");
      case SQLITE_CORRUPT: throw StoreError(file_ + ": is damaged: " + damage(reason));
      case SQLITE_FULL: throw StoreError(file_ + ": cannot be written: the disk is full");
      case SQLITE_BUSY: throw StoreError(file_ + ": another process has held its lock for 5 seconds");
      default: throw StoreError(file_ + ": " + reason);
    }
  }
  /// Where the damage is: the first finding of SQLite's own check, which names the page.
  std::string damage(const std::string& otherwise) {
    sqlite3_stmt* check = nullptr;
    sqlite3_prepare_v2(db_.get(), "PRAGMA integrity_check(1)", -1, &check, nullptr);
    const Statement owner(check);
    if (!check || sqlite3_step(check) != SQLITE_ROW) return otherwise;
    std::string found = reinterpret_cast<const char*>(sqlite3_column_text(check, 0));
    std::replace(found.begin(), found.end(), '\n', ' ');
    return found;
  }

  std::string file_;
  std::unique_ptr<sqlite3, Close> db_;
  Statement select_;
  Statement insert_;
};

}  // namespace espalier::backend
