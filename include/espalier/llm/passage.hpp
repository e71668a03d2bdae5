#pragma once

#include <espalier/core/hash.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

/// A passage of a corpus. Copies share one text. `score` comes from the retriever, higher is better.
class Passage {
 public:
  Passage(std::string id, std::string title, std::string text, double score = 0)
      : record_(std::make_shared<const Record>(Record{std::move(id), std::move(title), std::move(text)})),
        score_(score) {}
  [[nodiscard]] const std::string& id() const { return record_->id; }
  [[nodiscard]] const std::string& title() const { return record_->title; }
  /// The body, without the title line.
  [[nodiscard]] const std::string& text() const { return record_->text; }
  [[nodiscard]] double score() const { return score_; }
  /// The same passage with another score. The text is shared.
  [[nodiscard]] Passage scored(double score) const {
    Passage copy = *this;
    copy.score_ = score;
    return copy;
  }
  friend bool operator==(const Passage& a, const Passage& b) {
    return a.score_ == b.score_ &&
           (a.record_ == b.record_ || (a.id() == b.id() && a.title() == b.title() && a.text() == b.text()));
  }

 private:
  struct Record {
    std::string id, title, text;
  };
  std::shared_ptr<const Record> record_;
  double score_;
};

/// Ranked passages, best first.
using Passages = std::vector<Passage>;

/// One request to a retriever: a text and the number of passages to return.
class Query {
 public:
  Query(std::string text, std::uint32_t k) : text(std::move(text)), k(k) {}
  std::string text;
  std::uint32_t k;
  [[nodiscard]] Hash key() const { return Hasher().add(text).add(std::uint64_t(k)).finish(); }
};

/// One request to an encoder. The role decides prefixes, such as those of E5.
class EncodeRequest {
 public:
  enum class Role : std::uint8_t { query, passage };
  EncodeRequest(std::string text, Role role) : text(std::move(text)), role(role) {}
  std::string text;
  Role role;
  [[nodiscard]] Hash key() const { return Hasher().add(text).add(std::uint64_t(role)).finish(); }
};

/// An embedding [d].
using Embedding = std::vector<float>;

}  // namespace espalier
