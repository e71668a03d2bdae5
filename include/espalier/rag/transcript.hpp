#pragma once

#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::rag {

/// Text that a model wrote. Parsers accept nothing else, so a tag inside a document has no effect.
class ModelText {
 public:
  /// The reply that a text was read from, null where tokens are not kept.
  struct Source {
    std::string purpose;  ///< with ".repair" behind it for a reply that was asked for again
    Completion::Sampled sampled;
  };

  ModelText() = default;
  explicit ModelText(std::string text, std::shared_ptr<const Source> source = nullptr)
      : text_(std::move(text)), source_(std::move(source)) {}
  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] const std::shared_ptr<const Source>& source() const { return source_; }

 private:
  std::string text_;
  std::shared_ptr<const Source> source_;
};

/// What a segment of a transcript is.
enum class SegmentKind : std::uint8_t {
  thought,
  sub_question,
  own_answer,  ///< to the sub-question, from memory
  query,
  documents,
  answer,      ///< the final one
  sub_answer,  ///< the model's conclusion about the last query or sub-question
  queries,     ///< several queries to come, one per line
  notice       ///< a fixed message of the environment
};

/// The name of a kind, used in prompt spans and records.
inline const char* name(SegmentKind kind) {
  static constexpr const char* names[] = {"thought", "sub_question", "own_answer", "query", "documents",
                                          "answer",  "sub_answer",   "queries",    "notice"};
  return names[static_cast<std::size_t>(kind)];
}

/// One piece of a transcript: text of the model, documents, or a notice of the environment.
class Segment {
 public:
  /// A fixed message of the environment to the model.
  struct Notice {
    std::string text;
  };

  Segment(SegmentKind kind, ModelText text) : kind_(kind), content_(std::move(text)) {}
  explicit Segment(Passages documents) : kind_(SegmentKind::documents), content_(std::move(documents)) {}
  explicit Segment(Notice notice) : kind_(SegmentKind::notice), content_(std::move(notice)) {}
  [[nodiscard]] SegmentKind kind() const { return kind_; }
  /// The model's text, or null for other segments.
  [[nodiscard]] const ModelText* model_text() const { return std::get_if<ModelText>(&content_); }
  /// The documents, or null for other segments.
  [[nodiscard]] const Passages* documents() const { return std::get_if<Passages>(&content_); }
  /// The text of the model or of the notice. Throws std::logic_error for documents.
  [[nodiscard]] const std::string& words() const {
    if (const auto* model = model_text()) return model->str();
    if (const auto* notice = std::get_if<Notice>(&content_)) return notice->text;
    throw std::logic_error("documents are no words");
  }

 private:
  SegmentKind kind_;
  std::variant<ModelText, Passages, Notice> content_;
};

/// A reasoning history: a handle into an arena of segments that the states of one tree share. Appending copies no
/// segment and changes no other transcript. A transcript of any length is destroyed without recursion.
class Transcript {
 public:
  Transcript() : arena_(std::make_shared<Arena>()) {}

  [[nodiscard]] Transcript append(Segment segment) const {
    Transcript longer = *this;
    longer.tail_ = static_cast<std::uint32_t>(arena_->size());
    arena_->push_back(Link{tail_, std::move(segment)});
    return longer;
  }
  /// The segments, oldest first. Valid while any transcript of the tree lives.
  [[nodiscard]] std::vector<const Segment*> segments() const { return after(none); }
  /// The segments after `earlier`, which this transcript must continue.
  [[nodiscard]] std::vector<const Segment*> since(const Transcript& earlier) const { return after(earlier.tail_); }
  /// The newest segment, or null.
  [[nodiscard]] const Segment* last() const { return tail_ == none ? nullptr : &(*arena_)[tail_].segment; }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  struct Link {
    std::uint32_t before;
    Segment segment;
  };
  using Arena = std::deque<Link>;
  [[nodiscard]] std::vector<const Segment*> after(std::uint32_t end) const {
    std::vector<const Segment*> all;
    for (std::uint32_t i = tail_; i != none && i != end; i = (*arena_)[i].before) all.push_back(&(*arena_)[i].segment);
    return {all.rbegin(), all.rend()};
  }
  std::shared_ptr<Arena> arena_;
  std::uint32_t tail_ = none;
};

}  // namespace espalier::rag
