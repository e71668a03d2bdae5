#pragma once

#include <espalier/llm/prompt.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/sim/detail/knowledge.hpp>
#include <espalier/sim/skills.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// Separates the sentences of a thought that must stay on one line.
inline constexpr std::string_view then = " Then: ";

/// What a prompt shows, as words: slots and segments, by the names of their spans. A name that both
/// have, such as query, means a segment if it stands in the history. Views into the prompt.
class View {
 public:
  struct SubQuestion {
    std::vector<Word> content;
    std::optional<std::string_view> answer;  ///< the own answer given to it, or its conclusion
  };

  explicit View(const PromptBody& body) {
    const std::string_view text = body.shown();
    PromptBody::Span history;
    for (const PromptBody::Span& span : body.spans) {
      const std::string_view shown = text.substr(span.begin, span.end - span.begin);
      const bool inside = span.begin >= history.begin && span.end <= history.end;
      if (span.name == "history") {
        has_history = true;
        history = span;
      } else if (span.name == "sub_question") {
        sub_questions.push_back({content(shown), std::nullopt});
        pursue(shown);
      } else if (span.name == "own_answer" && !sub_questions.empty()) {
        sub_questions.back().answer = rag::detail::trim(shown);
        in_work.reset();
      } else if (span.name == "sub_answer") {
        conclude(shown);
      } else if (span.name == "query" && inside) {
        queries.push_back(content(shown));
        if (!in_work || in_work_is_query_) pursue(shown, true);
        consulted = true;
        fresh = documents.size();
      } else if (span.name == "query") {
        query = rag::detail::trim(shown);
      } else if (span.name == "thought") {
        thoughts.push_back(shown);
      } else if (span.name == "document") {
        documents.push_back(words(shown));
      } else if (span.name == "candidate") {
        candidates.push_back(rag::detail::trim(shown));
      } else if (span.name == "answer") {
        answer = rag::detail::trim(shown);
      } else if (span.name == "gold" && !inside) {
        gold = rag::detail::trim(shown);
      } else if (span.name == "step" && !inside) {
        step = rag::detail::trim(shown);
      } else if (span.name == "documents" && !inside) {
        has_documents = consulted = true;
        fresh = documents.size();
      }
    }
  }

  bool has_history = false;
  bool has_documents = false;  ///< the slot of that name, which may be empty
  bool consulted = false;      ///< the open question was looked up, or documents are given
  std::vector<SubQuestion> sub_questions;
  std::vector<SubQuestion> answered;  ///< queries without a sub-question, with their conclusions
  std::vector<std::vector<Word>> queries;
  std::vector<std::string_view> thoughts;  ///< thoughts and conclusions
  std::vector<std::string_view> candidates;
  std::vector<Word> pursued;                ///< the newest sub-question or query
  std::optional<std::string_view> in_work;  ///< the newest sub-question or query, unless it is answered
  std::optional<std::string_view> query, answer, gold, step;
  std::vector<std::vector<Word>> documents;
  std::size_t fresh = 0;  ///< the first document of the newest block

  /// The number of thoughts that contain this text.
  [[nodiscard]] std::ptrdiff_t mentions(std::string_view text) const {
    return std::ranges::count_if(thoughts, [&](std::string_view t) { return t.find(text) != std::string_view::npos; });
  }
  /// The value that a thought states after `opening`, up to the end of its sentence. Nothing if no thought does.
  [[nodiscard]] std::optional<std::string_view> stated(std::string_view opening) const {
    for (std::string_view thought : thoughts)
      if (const auto value = stated_in(thought, opening)) return value;
    return std::nullopt;
  }
  [[nodiscard]] static std::optional<std::string_view> stated_in(std::string_view text, std::string_view opening) {
    const std::size_t at = text.find(opening);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view value = text.substr(at + opening.size());
    return ended(value.substr(0, std::min({value.find('\n'), value.find(then), value.find("&lt;"), value.find('<')})));
  }

  /// The value that an answer gives: the text after `opening`, the text after another question, or all of it.
  [[nodiscard]] static std::string_view value_in(std::string_view answer, std::string_view opening) {
    constexpr std::string_view quoted = "\" is ";
    if (const auto value = stated_in(answer, opening)) return *value;
    if (const std::size_t at = answer.rfind(quoted); at != std::string_view::npos)
      return ended(answer.substr(at + quoted.size()));
    return answer;
  }

 private:
  /// The text without blanks and a full stop at the end.
  static std::string_view ended(std::string_view value) {
    value = rag::detail::trim(value);
    if (!value.empty() && value.back() == '.') value.remove_suffix(1);
    return value;
  }
  void pursue(std::string_view text, bool is_query = false) {
    in_work = rag::detail::trim(text);
    in_work_is_query_ = is_query;
    pursued = content(text);
    consulted = false;
  }
  void conclude(std::string_view text) {
    thoughts.push_back(text);
    if (in_work && in_work_is_query_) answered.push_back({pursued, rag::detail::trim(text)});
    else if (in_work) sub_questions.back().answer = rag::detail::trim(text);
    in_work.reset();
  }
  bool in_work_is_query_ = false;
};

/// One request to a model: what it shows, what it wants back, and its random draws.
class Request {
 public:
  Request(const Prompt& prompt, const Knowledge& knowledge, const Skills& skills)
      : knowledge(knowledge),
        skills(skills),
        view(prompt.body()),
        draws(prompt, skills.seed),
        protocol(prompt.body().protocol.get()),
        purpose(protocol ? protocol->purpose(prompt.purpose()) : nullptr),
        question(prompt.slot("question").value_or(view.query.value_or(prompt.text()))),
        chain(knowledge.chain(question)),
        malformed_(draws.happens("malformed", skills.malformed)) {}

  [[nodiscard]] bool wants(std::string_view role) const {
    return purpose && std::find(purpose->returns.begin(), purpose->returns.end(), role) != purpose->returns.end();
  }
  /// True if the role has no marks. It is then the whole reply, and nothing may stand before it.
  [[nodiscard]] bool whole(std::string_view role) const {
    const Protocol::Tag* tag = protocol ? protocol->tag(role) : nullptr;
    return tag && tag->open.empty() && tag->close.empty();
  }
  /// A text in the marks of its role, or bare if there are none.
  [[nodiscard]] std::string tagged(std::string_view role, const std::string& text) const {
    const Protocol::Tag* tag = protocol && !malformed_ ? protocol->tag(role) : nullptr;
    if (!tag) return text;
    const bool line = tag->close == "\n" && !tag->open.ends_with(' ');
    return tag->open + (line ? " " : "") + text + tag->close;
  }
  /// A thought, in the protocol's marks (on one line if they end with the line), and the reply that follows.
  [[nodiscard]] std::string reply(std::string thought, std::string_view role, const std::string& text) const {
    if (whole(role)) return text;
    const Protocol::Tag* tag = protocol->tag("thought");
    if (!tag || whole("thought")) return thought + tagged(role, text);
    if (tag->close != "\n") return tagged("thought", thought) + "\n" + tagged(role, text);
    while (thought.ends_with('\n')) thought.pop_back();
    for (std::size_t at = 0; (at = thought.find('\n', at)) != std::string::npos;) thought.replace(at, 1, then);
    return tagged("thought", thought) + tagged(role, text);
  }

  const Knowledge& knowledge;
  const Skills& skills;
  const View view;
  const Draws draws;
  const Protocol* const protocol;
  const Protocol::Purpose* const purpose;  ///< null without a protocol
  const std::string_view question;
  const Chain* const chain;  ///< of the question, null if it is not known

 private:
  bool malformed_;
};

}  // namespace espalier::sim::detail
