#pragma once

#include <espalier/backend/detail/journal/file.hpp>
#include <espalier/backend/detail/journal/row.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace espalier::backend {

/// Reads a journal's records in the order in which they were written, and checks each.
class JournalReader {
 public:
  /// Throws StoreError if the file is not a journal.
  explicit JournalReader(std::string file) : file_(std::move(file)) {
    rows_ = file_.prepare(std::string("SELECT ") + detail::JournalRow::columns +
                          ", request_checksum, json FROM record LEFT JOIN request ON request_id = record.request "
                          "ORDER BY id");
  }
  /// The next record, nothing at the end. Throws StoreError that names a damaged record, and may be called again.
  /// Throws StoreError that names a damaged page, and then ends.
  std::optional<Record> next() {
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
    return row.record(std::move(request));
  }

 private:
  detail::JournalFile file_;
  detail::JournalFile::Statement rows_;
  bool ended_ = false;
};

}  // namespace espalier::backend
