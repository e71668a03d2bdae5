#pragma once

#include <espalier/core/prompt.hpp>
#include <espalier/sim/words.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace espalier::sim {

/// What a prompt shows, as words: the segments of its last message, by the names of their spans. Views into the prompt.
class View {
 public:
  struct SubQuestion {
    std::vector<Word> content;
    std::optional<std::string_view> answer;  ///< the own answer given to it
  };

  explicit View(const PromptBody& body) {
    const std::string_view text = body.messages.back().content;
    for (const Span& span : body.spans) {
      const std::string_view shown = text.substr(span.begin, span.end - span.begin);
      if (span.name == "history") has_history = true;
      else if (span.name == "sub_question") sub_questions.push_back({content(shown), std::nullopt});
      else if (span.name == "own_answer" && !sub_questions.empty()) sub_questions.back().answer = trimmed(shown);
      else if (span.name == "query") queries.push_back(content(shown));
      else if (span.name == "thought") thoughts.push_back(shown);
      else if (span.name == "document") add_document(shown);
    }
  }

  bool has_history = false;
  std::vector<SubQuestion> sub_questions;
  std::vector<std::vector<Word>> queries;
  std::vector<std::string_view> thoughts;

  [[nodiscard]] std::size_t documents() const { return ends_.size(); }
  [[nodiscard]] std::span<const Word> document(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(tokens_).subspan(begin, ends_[i] - begin);
  }
  /// The value that a thought states after `opening`, to the end of its line without the full stop; nothing if none does.
  [[nodiscard]] std::optional<std::string_view> stated(std::string_view opening) const {
    for (std::string_view thought : thoughts) {
      const std::size_t at = thought.find(opening);
      if (at == std::string_view::npos) continue;
      std::string_view value = thought.substr(at + opening.size());
      value = trimmed(value.substr(0, value.find('\n')));
      if (!value.empty() && value.back() == '.') value.remove_suffix(1);
      return value;
    }
    return std::nullopt;
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \n\t"), end = text.find_last_not_of(" \n\t");
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
  }
  void add_document(std::string_view text) {
    each_word(text, [&](Word w, std::string_view) { tokens_.push_back(w); });
    ends_.push_back(tokens_.size());
  }
  std::vector<Word> tokens_;
  std::vector<std::size_t> ends_;
};

}  // namespace espalier::sim
