#pragma once

#include <espalier/core/hash.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

namespace detail {

/// The fields of files and of servers' hits, in the order in which they are looked for.
inline constexpr std::array<std::string_view, 4> passage_ids{"id", "_id", "docid", "doc_id"};
inline constexpr std::array<std::string_view, 6> question_ids{"id", "_id", "qid", "question_id", "query_id", "src_id"};
inline constexpr std::array<std::string_view, 4> text_fields{"text", "paragraph_text", "passage", "snippet"};
inline constexpr std::array<std::string_view, 5> title_fields{"title", "Title", "wikipedia_title", "page_title",
                                                              "doc_title"};

/// Takes the title, "" if there is none, and the text out of a field "contents": title line, then text. The line may
/// be in quotes. With a title given, only a line that says the same is taken out. A single line has no title.
inline std::pair<std::string_view, std::string_view> split_contents(std::string_view contents,
                                                                    std::optional<std::string_view> title) {
  const std::size_t end = contents.find('\n');
  std::string_view first = contents.substr(0, end);
  if (end == contents.npos) return {title.value_or(""), contents};
  if (first.ends_with('\r')) first.remove_suffix(1);
  const bool quoted = first.size() >= 2 && first.front() == '"' && first.back() == '"';
  if (quoted && first != title) first = first.substr(1, first.size() - 2);
  return {title.value_or(first), first == title.value_or(first) ? contents.substr(end + 1) : contents};
}

}  // namespace detail

/// Ranked passages, best first.
using Passages = std::vector<Passage>;

/// One request to a retriever: a text and the number of passages to return.
struct Query {
  Query(std::string text, std::uint32_t k) : text(std::move(text)), k(k) {}
  std::string text;
  std::uint32_t k;
  [[nodiscard]] Hash key() const { return Hasher().add(text).add(std::uint64_t(k)).finish(); }
};

/// One request to an encoder. The role decides prefixes, such as those of E5.
struct EncodeRequest {
  enum class Role : std::uint8_t { query, passage };
  EncodeRequest(std::string text, Role role) : text(std::move(text)), role(role) {}
  std::string text;
  Role role;
  [[nodiscard]] Hash key() const { return Hasher().add(text).add(std::uint64_t(role)).finish(); }
};

/// An embedding [d].
using Embedding = std::vector<float>;

}  // namespace espalier
