#pragma once

#include <espalier/backend/detail/journal/file.hpp>
#include <espalier/backend/journal/store.hpp>

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// Binds a key as stored in the file: 16 bytes, big-endian, like Hash::hex().
inline void bind_key(sqlite3_stmt* statement, int index, Hash key) {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[7 - i] = static_cast<unsigned char>(key.high >> (8 * i));
    bytes[15 - i] = static_cast<unsigned char>(key.low >> (8 * i));
  }
  sqlite3_bind_blob(statement, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}
/// A text or blob column, valid until the statement's next step.
inline std::string_view column_bytes(sqlite3_stmt* statement, int index) {
  const void* blob = sqlite3_column_blob(statement, index);  // null if empty
  return {static_cast<const char*>(blob), blob ? static_cast<std::size_t>(sqlite3_column_bytes(statement, index)) : 0};
}
/// A key column. A damaged one of another length gives all zeros.
inline Hash column_key(sqlite3_stmt* statement, int index) {
  const std::string_view bytes = column_bytes(statement, index);
  Hash key;
  if (bytes.size() != 16) return key;
  for (std::size_t i = 0; i < 8; ++i) {
    key.high = key.high << 8 | static_cast<unsigned char>(bytes[i]);
    key.low = key.low << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  return key;
}

/// One row of the table `record`. Texts are views into a Record, or into a statement until its next step.
class JournalRow {
 public:
  /// The same order everywhere. `places` are for an INSERT.
  static constexpr const char* columns =
      "key, kind, request, paid_by, seed, sample, prompt_tokens, completion_tokens, attempts, microseconds, created, "
      "source, purpose, checksum, value";
  static constexpr const char* places = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15";
  static constexpr int count = 15;

  /// `request`, `paid_by`: ids in the tables request and run, 0 = none. `created`: seconds since 1970.
  JournalRow(const Record& record, sqlite3_int64 request, sqlite3_int64 paid_by, std::uint64_t created)
      : key(record.key), source(record.note.source), purpose(record.note.purpose), value(record.value) {
    const RecordNote& note = record.note;
    numbers_ = {
        std::uint64_t(record.kind), std::uint64_t(request), std::uint64_t(paid_by), note.seed,         note.sample,
        note.prompt_tokens,         note.completion_tokens, note.attempts,          note.microseconds, created};
    checksum_ = computed();
  }
  /// Reads the statement's first columns.
  explicit JournalRow(sqlite3_stmt* statement)
      : key(column_key(statement, 0)),
        source(column_bytes(statement, 11)),
        purpose(column_bytes(statement, 12)),
        value(column_bytes(statement, 14)),
        checksum_(sqlite3_column_int64(statement, 13)) {
    int column = 0;
    for (std::uint64_t& number : numbers_)
      number = static_cast<std::uint64_t>(sqlite3_column_int64(statement, ++column));
  }
  void bind(sqlite3_stmt* statement) const {
    bind_key(statement, 1, key);
    int place = 1;
    for (const std::uint64_t number : numbers_)
      sqlite3_bind_int64(statement, ++place, static_cast<sqlite3_int64>(number));
    for (const std::string_view text : {source, purpose})
      sqlite3_bind_text64(statement, ++place, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(statement, 14, checksum_);
    sqlite3_bind_blob64(statement, 15, value.data(), value.size(), SQLITE_STATIC);
  }
  [[nodiscard]] std::uint64_t request() const { return numbers_[1]; }
  /// The same record in another journal.
  void move_to(sqlite3_int64 request, sqlite3_int64 paid_by) {
    numbers_[1] = static_cast<std::uint64_t>(request);
    numbers_[2] = static_cast<std::uint64_t>(paid_by);
    checksum_ = computed();
  }
  /// Throws StoreError that names the record if its checksum does not match.
  void check(const std::string& file) const {
    if (checksum_ != computed())
      throw StoreError(file + ": record " + key.hex() + " is damaged: its checksum does not match");
  }

  Hash key;
  std::string_view source, purpose, value;

 private:
  [[nodiscard]] sqlite3_int64 computed() const {
    Hasher hasher;
    hasher.add(key).add(source).add(purpose).add(value);
    for (const std::uint64_t number : numbers_) hasher.add(number);
    return static_cast<sqlite3_int64>(hasher.finish().low);
  }

  std::array<std::uint64_t, 10> numbers_{};  // the columns from the second on
  sqlite3_int64 checksum_ = 0;
};

}  // namespace detail

/// A store in a journal file. If the process is killed, everything that put() returned is kept.
class SqliteStore final : public Store {
 public:
  /// Opens or creates the file. Records are marked as paid by this `run`, "" = none. Throws StoreError.
  explicit SqliteStore(std::string file, const std::string& run = "")
      : file_(std::move(file), detail::JournalFile::Open::or_create) {
    const std::string columns = detail::JournalRow::columns;
    select_ = file_.prepare("SELECT " + columns + " FROM record WHERE key = ?1");
    insert_ =
        file_.prepare("INSERT OR IGNORE INTO record (" + columns + ") VALUES (" + detail::JournalRow::places + ")");
    insert_request_ = file_.prepare("INSERT INTO request (request_checksum, json) VALUES (?1, ?2)");
    if (run.empty()) return;
    const detail::JournalFile::Statement enter = file_.prepare("INSERT OR IGNORE INTO run (name) VALUES (?1)");
    const detail::JournalFile::Statement look_up = file_.prepare("SELECT id FROM run WHERE name = ?1");
    for (sqlite3_stmt* statement : {enter.get(), look_up.get()}) {
      sqlite3_bind_text64(statement, 1, run.data(), run.size(), SQLITE_STATIC, SQLITE_UTF8);
      file_.step(statement);
    }
    run_ = sqlite3_column_int64(look_up.get(), 0);
  }
  /// Throws StoreError unless the file is a journal that this version reads.
  static void check(const std::string& file) { const detail::JournalFile opened(file); }

  [[nodiscard]] std::optional<std::string> find(Hash key) override {
    const Reset reset(select_.get());
    detail::bind_key(select_.get(), 1, key);
    if (!file_.step(select_.get())) return std::nullopt;
    const detail::JournalRow row(select_.get());
    row.check(name());
    return std::string(row.value);
  }

  std::vector<std::string> put(const std::vector<Record>& records) override {
    std::vector<std::string> stored;
    if (records.empty()) return stored;
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    together([&] {
      for (const Record& record : records) {
        const sqlite3_int64 request = record.note.request ? id_of(*record.note.request) : 0;
        stored.push_back(insert(detail::JournalRow(record, request, run_, now)));
      }
    });
    return stored;
  }

  /// Adds to `target` all records of another journal that it does not have, as paid by this run, 1,024 per
  /// transaction. Calls pause() before each. Throws StoreError that names a damaged record.
  static void copy(const std::string& source, const std::string& target, const std::string& run,
                   const std::function<void()>& pause) {
    detail::JournalFile from(source);  // before the target, which is not created for a bad source
    const detail::JournalFile::Statement rows =
        from.prepare(std::string("SELECT ") + detail::JournalRow::columns +
                     ", request_checksum, json FROM record LEFT JOIN request ON request_id = record.request "
                     "ORDER BY id");
    SqliteStore store(target, run);
    for (bool more = true; more;) {
      pause();
      store.together([&] {
        for (int i = 0; i < 1024 && (more = from.step(rows.get())); ++i) store.copy_row(rows.get(), source);
      });
    }
  }

  [[nodiscard]] const std::string& name() const override { return file_.name(); }

 private:
  using Reset = detail::JournalFile::Reset;
  static constexpr std::size_t most_requests = 4096;

  /// Runs write() in one transaction.
  template <class Write>
  void together(const Write& write) {
    if (requests_.size() >= most_requests) requests_.clear();
    try {
      detail::JournalFile::Transaction transaction(file_);
      write();
      transaction.commit();
    } catch (...) {
      requests_.clear();  // those of this transaction are not in the file
      throw;
    }
  }
  /// Inserts a row of another journal, with its request in the two columns behind it.
  void copy_row(sqlite3_stmt* columns, const std::string& source) {
    constexpr int after = detail::JournalRow::count;
    detail::JournalRow row(columns);
    row.check(source);
    sqlite3_int64 id = 0;
    if (row.request() != 0) {
      const detail::RequestText request(std::string(detail::column_bytes(columns, after + 1)));
      if (static_cast<sqlite3_int64>(request.hash.low) != sqlite3_column_int64(columns, after))
        throw StoreError(source + ": record " + row.key.hex() +
                         " is damaged: the checksum of its request does not match");
      if (find(row.key)) return;  // its request is not written twice either
      id = id_of(request);
    }
    row.move_to(id, run_);
    (void)insert(row);
  }
  /// Inserts a record. Returns the value that is stored under its key afterwards.
  std::string insert(const detail::JournalRow& row) {
    const Reset reset(insert_.get());
    row.bind(insert_.get());
    file_.step(insert_.get());
    return file_.changed() ? std::string(row.value) : find(row.key).value();  // another process was first
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

  detail::JournalFile file_;
  detail::JournalFile::Statement select_, insert_, insert_request_;
  sqlite3_int64 run_ = 0;
  std::unordered_map<Hash, sqlite3_int64> requests_;  ///< ids of the last requests written
};

}  // namespace espalier::backend
