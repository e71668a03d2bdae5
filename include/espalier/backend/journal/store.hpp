#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

/// What a record answers. The numbers are part of the file format.
enum class RecordKind : std::uint8_t { generation = 1, retrieval = 2, embedding = 3, score = 4 };

/// What was asked, as JSON without seed and sample: the samples of a prompt share one.
class RequestText {
 public:
  explicit RequestText(std::string text) : json(std::move(text)), hash(Hasher().add(json).finish()) {}
  std::string json;
  Hash hash;
};

/// What was asked, of whom, and what it took: kept beside a response for people. No answer depends on it.
class RecordNote {
 public:
  std::string source;                          ///< the model's or index's name
  std::string purpose;                         ///< of the request to a model
  std::shared_ptr<const RequestText> request;  ///< null = not known
  std::uint64_t seed = 0;
  std::uint32_t sample = 0;
  std::uint32_t prompt_tokens = 0;      ///< 0 = not reported
  std::uint32_t completion_tokens = 0;  ///< 0 = not reported
  std::uint32_t attempts = 0;           ///< messages sent for it, retries included; 0 = it shared another sample's
  std::uint64_t microseconds = 0;       ///< from asking to the answer
};

/// One stored response: the key of the request and the bytes of the answer.
class Record {
 public:
  Record(Hash request, RecordKind sort, std::string bytes, RecordNote about = {})
      : key(request), kind(sort), value(std::move(bytes)), note(std::move(about)) {}
  Hash key;
  RecordKind kind;
  std::string value;
  RecordNote note;
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
