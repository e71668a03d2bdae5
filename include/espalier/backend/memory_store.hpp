#pragma once

#include <espalier/backend/journal/store.hpp>

#include <unordered_map>

namespace espalier::backend {

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
    stored.reserve(records.size());
    for (const Record& record : records) stored.push_back(values_.try_emplace(record.key, record.value).first->second);
    return stored;
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::unordered_map<Hash, std::string> values_;
  std::string name_ = "the store in memory";
};

}  // namespace espalier::backend
