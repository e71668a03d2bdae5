#pragma once

#include <espalier/backend/journal/store.hpp>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace espalier::backend::detail {

/// An open journal: one SQLite file with its -wal and -shm files, safe between processes on a local file system. A torn
/// end of the log is dropped on opening. For one thread at a time. Every failure is a StoreError with its name.
///
/// An existing journal can also be read where nothing can be written.
class JournalFile {
 public:
  static constexpr int schema_version = 2;
  enum class Open { existing, or_create };

  explicit JournalFile(std::string file, Open open = Open::existing) : file_(std::move(file)) {
    struct stat found{};  // SQLite would write beside a device, and wait for a pipe
    if (::stat(file_.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) throw StoreError(file_ + ": is no file");
    if (open == Open::existing && !writable()) {
      connect(SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, read_only_uri());
      check_schema();
      return;
    }
    if (open == Open::or_create) ::mknod(file_.c_str(), S_IFREG | 0600, 0);  // a new one and its log are its owner's
    connect(SQLITE_OPEN_READWRITE | (open == Open::or_create ? SQLITE_OPEN_CREATE : 0), file_);
    use_log();
    run("PRAGMA synchronous = NORMAL");
    run("PRAGMA wal_autocheckpoint = 4000");  // 16 MB: the scattered pages of the key index are written less often
    Transaction transaction(*this);
    if (number("PRAGMA application_id") == 0 && number("SELECT count(*) FROM sqlite_master") == 0) create_schema();
    check_schema();
    transaction.commit();
  }

  [[nodiscard]] const std::string& name() const { return file_; }

  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  struct ToStart {
    void operator()(sqlite3_stmt* statement) const { sqlite3_reset(statement); }
  };
  /// Resets a statement at the end of its use, so that it holds no lock and no snapshot.
  using Reset = std::unique_ptr<sqlite3_stmt, ToStart>;

  /// Takes the write lock. Rolls back unless committed.
  class Transaction {
   public:
    explicit Transaction(JournalFile& file) : file_(file) { file_.run("BEGIN IMMEDIATE"); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
      if (open_) sqlite3_exec(file_.db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
    void commit() {
      file_.run("COMMIT");
      open_ = false;
    }

   private:
    JournalFile& file_;
    bool open_ = true;
  };

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
  /// True if the last statement inserted a row. last_id() is then its id.
  [[nodiscard]] bool changed() const { return sqlite3_changes(db_.get()) == 1; }
  [[nodiscard]] sqlite3_int64 last_id() const { return sqlite3_last_insert_rowid(db_.get()); }

 private:
  static constexpr int busy_milliseconds = 60'000;             ///< a slow disk holds a lock for seconds
  static constexpr sqlite3_int64 application_id = 0x45737061;  // "Espa"

  void connect(int flags, const std::string& name) {
    sqlite3* connection = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &connection, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(connection);
    if (code != SQLITE_OK) fail();
    sqlite3_extended_result_codes(db_.get(), 1);
    sqlite3_busy_timeout(db_.get(), busy_milliseconds);
  }

  /// True if the file can be written and new files can be made in its folder.
  [[nodiscard]] bool writable() const {
    const std::size_t slash = file_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : file_.substr(0, slash + 1);
    return ::faccessat(AT_FDCWD, file_.c_str(), W_OK, AT_EACCESS) == 0 &&
           ::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) == 0;
  }
  /// The address of a file that this process cannot write. Without a log it has no writer, and gets no files beside it.
  [[nodiscard]] std::string read_only_uri() const {
    std::string uri = "file:";
    for (const char c : file_)
      if (c == '%') uri += "%25";
      else if (c == '?') uri += "%3f";
      else if (c == '#') uri += "%23";
      else uri += c;
    struct stat log{};
    const bool logged = ::stat((file_ + "-wal").c_str(), &log) == 0 && log.st_size > 0;
    return uri + (logged ? "?mode=ro" : "?mode=ro&immutable=1");
  }

  /// If two processes create the file at once, they can meet in this switch, where SQLite itself does not wait.
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

  /// docs/reference/formats.md describes the columns.
  void create_schema() {
    run("CREATE TABLE record (id INTEGER PRIMARY KEY, key BLOB NOT NULL, kind INTEGER NOT NULL, source TEXT NOT NULL, "
        "purpose TEXT NOT NULL, request INTEGER NOT NULL, paid_by INTEGER NOT NULL, seed INTEGER NOT NULL, sample "
        "INTEGER NOT NULL, "
        "prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, attempts INTEGER NOT NULL, "
        "microseconds INTEGER NOT NULL, created INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL)");
    run("CREATE UNIQUE INDEX record_key ON record (key)");
    run("CREATE TABLE request (request_id INTEGER PRIMARY KEY, request_checksum INTEGER NOT NULL, json BLOB NOT NULL)");
    run("CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)");
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

  /// Throws SQLite's last error with the file's name.
  [[noreturn]] void fail() {
    const std::string reason = sqlite3_errmsg(db_.get());
    const int code = 0xff & sqlite3_errcode(db_.get());
    if (code == SQLITE_NOTADB) throw StoreError(file_ + ": is not a journal: it is no SQLite database");
    if (code == SQLITE_CORRUPT) throw StoreError(file_ + ": is damaged: " + damage(reason));
    if (code == SQLITE_FULL) throw StoreError(file_ + ": cannot be written: the disk is full");
    if (code == SQLITE_BUSY) throw StoreError(file_ + ": another process has held its lock for a minute");
    throw StoreError(file_ + ": " + reason);
  }
  /// The place of the damage: the first result of SQLite's own check, which names the page.
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
};

}  // namespace espalier::backend::detail
