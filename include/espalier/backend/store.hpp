#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// What a record answers. The numbers are part of the file format.
enum class RecordKind : std::uint8_t { generation = 1, retrieval = 2, embedding = 3 };

/// One stored response: the key of the request and the bytes of the answer.
class Record {
 public:
  Record(Hash request, RecordKind sort, std::string bytes) : key(request), kind(sort), value(std::move(bytes)) {}
  Hash key;
  RecordKind kind;
  std::string value;
};

/// A store failed: it cannot be opened, read or written, or a record in it is damaged. Ends a run; it is not retried.
class StoreError : public Error {
 public:
  using Error::Error;
};

/// An append-only map from request keys to responses: nothing is ever changed or deleted. One thread at a time calls it.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// The value under that key. Throws StoreError, naming the key, if the record is damaged.
  [[nodiscard]] virtual std::optional<std::string> find(Hash key) = 0;
  /// Writes all records or none, and returns the stored value of each: where a key was taken, the older value wins.
  virtual std::vector<std::string> put(const std::vector<Record>& records) = 0;
  /// What messages call this store: its file, or what it is.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

}  // namespace espalier::backend
