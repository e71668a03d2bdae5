#pragma once

#include <espalier/backend/journal/detail/file.hpp>
#include <espalier/backend/journal/detail/row.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// Reads a journal's records in the order in which they were written, and checks each.
class JournalReader {
 public:
  /// Selects records of a journal. An empty or 0 field does not filter.
  struct Filter {
    std::uint64_t kind = 0;   ///< a Record::Kind
    std::string source = {};  ///< model or index
    std::string purpose = {};
    std::uint64_t since = 0;  ///< seconds since 1970
  };

  /// A record with everything that the journal knows about it, for people.
  class Entry {
   public:
    Entry(const detail::JournalRow& row, std::shared_ptr<const detail::RequestText> request)
        : record(row.key, static_cast<Record::Kind>(row.number(detail::JournalRow::Number::kind)),
                 std::string(row.value)),
          created(row.number(detail::JournalRow::Number::created)) {
      using Number = detail::JournalRow::Number;
      detail::RecordNote& note = record.note;
      note.source = row.source;
      note.purpose = row.purpose;
      note.request = std::move(request);
      note.seed = row.number(Number::seed);
      note.sample = static_cast<std::uint32_t>(row.number(Number::sample));
      note.prompt_tokens = static_cast<std::uint32_t>(row.number(Number::prompt_tokens));
      note.completion_tokens = static_cast<std::uint32_t>(row.number(Number::completion_tokens));
      note.attempts = static_cast<std::uint32_t>(row.number(Number::attempts));
      note.microseconds = row.number(Number::microseconds);
    }
    Record record;
    std::uint64_t created;  ///< seconds since 1970
  };

  /// Throws StoreError if the file is not a journal.
  explicit JournalReader(std::string file) : JournalReader(std::move(file), Filter()) {}
  JournalReader(std::string file, const Filter& filter) : file_(std::move(file)) {
    rows_ = file_.prepare(std::string("SELECT ") + detail::JournalRow::columns +
                          ", request_checksum, json FROM record LEFT JOIN request ON request_id = record.request WHERE "
                          "(?1 = 0 OR kind = ?1) AND "
                          "(?2 = '' OR source = ?2) AND (?3 = '' OR purpose = ?3) AND created >= ?4 ORDER BY id");
    sqlite3_bind_int64(rows_.get(), 1, static_cast<sqlite3_int64>(filter.kind));
    bind_text(2, filter.source);
    bind_text(3, filter.purpose);
    sqlite3_bind_int64(rows_.get(), 4, static_cast<sqlite3_int64>(filter.since));
  }
  /// The next record, nothing at the end. Throws StoreError that names a damaged record, and may be called again.
  /// Throws StoreError that names a damaged page, and then ends.
  std::optional<Entry> next() {
    if (ended_) return std::nullopt;
    ended_ = true;
    if (!file_.step(rows_.get())) return std::nullopt;
    ended_ = false;
    const detail::JournalRow row(rows_.get(), 0);
    row.check(file_.name());
    std::shared_ptr<const detail::RequestText> request;
    if (row.number(detail::JournalRow::Number::request)) {
      request = std::make_shared<const detail::RequestText>(
          std::string(detail::column_bytes(rows_.get(), detail::JournalRow::count + 1)));
      if (static_cast<sqlite3_int64>(request->hash.low) != sqlite3_column_int64(rows_.get(), detail::JournalRow::count))
        throw StoreError(file_.name() + ": record " + row.key.hex() +
                         " is damaged: the checksum of its request does not match");
    }
    return Entry(row, std::move(request));
  }
  /// What is wrong with the file's structure, page by page, as SQLite reports it. Empty = nothing.
  std::vector<std::string> damage() {
    std::vector<std::string> found;
    const auto check = file_.prepare("PRAGMA integrity_check");
    while (file_.step(check.get())) {
      std::string line(detail::column_bytes(check.get(), 0));
      std::replace(line.begin(), line.end(), '\n', ' ');
      if (line != "ok") found.push_back(file_.name() + ": is damaged: " + line);
    }
    return found;
  }

 private:
  void bind_text(int index, const std::string& text) {
    sqlite3_bind_text64(rows_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }

  detail::JournalFile file_;
  detail::JournalFile::Statement rows_;
  bool ended_ = false;
};

}  // namespace espalier::backend
