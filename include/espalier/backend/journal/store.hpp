#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// A request as JSON without seed and sample, shared by all samples of a prompt.
struct RequestText {
  explicit RequestText(std::string text) : json(std::move(text)), hash(Hasher().add(json).finish()) {}
  std::string json;
  Hash hash;
};

/// Notes beside a response, for people: the request, the backend and the cost. No answer depends on them.
struct RecordNote {
  std::string source;                          ///< the model's or index's name
  std::string purpose;                         ///< of a request to a model
  std::shared_ptr<const RequestText> request;  ///< null = unknown
  std::uint64_t seed = 0;
  std::uint32_t sample = 0;
  std::uint32_t prompt_tokens = 0;      ///< 0 = not reported
  std::uint32_t completion_tokens = 0;  ///< 0 = not reported
  std::uint32_t attempts = 0;           ///< messages sent for it, retries included. 0 = it shared another sample's
  std::uint64_t microseconds = 0;       ///< from the request to the answer
};

}  // namespace detail

/// One stored response: the key of the request and the bytes of the answer.
struct Record {
  /// The kind of a record. The numbers are part of the file format (4 were scores of given texts).
  enum class Kind : std::uint8_t { generation = 1, retrieval = 2, embedding = 3 };

  Hash key;
  Kind kind;
  std::string value;
  detail::RecordNote note = {};
};

/// A store cannot be opened, read or written, or one of its records is damaged. This ends a run and is not retried.
struct StoreError : Error {
  using Error::Error;
};

/// An append-only map from request keys to responses. Nothing is changed or deleted. For one thread at a time.
struct Store {
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// The value of this key. Throws StoreError that names the key if the record is damaged.
  [[nodiscard]] virtual std::optional<std::string> find(Hash key) = 0;
  /// Writes all records or none, and returns the stored value of each. Where a key exists, the older value is kept.
  virtual std::vector<std::string> put(const std::vector<Record>& records) = 0;
  /// The name of this store in messages: its file or a description.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// A store that lives as long as the process, for models and retrievers without a fingerprint.
class MemoryStore final : public Store {
 public:
  [[nodiscard]] std::optional<std::string> find(Hash key) override {
    const auto it = values_.find(key);
    if (it == values_.end()) return std::nullopt;
    return it->second;
  }
  std::vector<std::string> put(const std::vector<Record>& records) override {
    std::vector<std::string> stored;
    for (const Record& record : records) stored.push_back(values_.try_emplace(record.key, record.value).first->second);
    return stored;
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::unordered_map<Hash, std::string> values_;
  std::string name_ = "the store in memory";
};

}  // namespace espalier::backend
