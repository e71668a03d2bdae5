#pragma once

#include <espalier/backend/journal/store.hpp>

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::backend::detail {

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
    numbers_ = {static_cast<std::uint64_t>(record.kind),
                static_cast<std::uint64_t>(request),
                static_cast<std::uint64_t>(paid_by),
                note.seed,
                note.sample,
                note.prompt_tokens,
                note.completion_tokens,
                note.attempts,
                note.microseconds,
                created};
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

}  // namespace espalier::backend::detail
