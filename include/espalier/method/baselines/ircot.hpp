#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <array>
#include <string>
#include <string_view>

/// A chain of thought with searches, and a router before it.
namespace espalier::method::baselines::detail {

// IRCoT (Trivedi et al. 2023): a chain of thought with one sentence per call. Each sentence is the next query, and the
// prompt shows all documents so far. A sentence with the answer's marker ends it, otherwise a final call answers.

inline void add_ircot(Protocol& protocol, rag::PromptSet::Texts& texts) {
  protocol.purposes.push_back({"sentence", {"documents", "question", "history"}, {"answer", "sub_answer"}});
  protocol.purposes.push_back({"forced_answer", {"documents", "question", "history"}, {"answer"}});
  protocol.tags = {{"answer", "So the answer is:", "\n"}, {"sub_answer", "", ""}, {"thought", "", ""}};
  protocol.hidden = {"search", "information"};
  protocol.document = "Wikipedia Title: {title}\n{text}\n\n";
  texts["sentence"] =
      "You reason towards the answer of a question, one sentence at a time, with the help of the documents. Write the "
      "next "
      "sentence of your reasoning and nothing else. If the reasoning is complete, write the answer instead, on a line "
      "after So the answer is:\n" +
      words::brief + words::documents + words::question + "\n### Reasoning so far\n{history}\n### Next sentence\n";
  texts["forced_answer"] =
      "Answer the question from the documents and the reasoning below, on a line after So the answer is:\n" +
      words::brief + words::documents + words::question + "\n### Reasoning\n{history}\n### Answer\n";
}

inline rag::PromptSet ircot_prompts() {
  Protocol protocol{"ircot", {}, {}};
  rag::PromptSet::Texts texts;
  add_ircot(protocol, texts);
  return prompt_set(std::move(protocol), std::move(texts));
}

/// The first sentence of a text. A full stop ends it if white space and then no lower-case letter follow. It does not
/// end at initials, titles and words with inner full stops: "U.S. Steel", "St. Louis" and "J. R. Smith" stay whole.
inline std::string first_sentence(std::string_view text) {
  constexpr std::array<std::string_view, 10> titles{"Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Gen", "Col", "Jr", "No"};
  const auto blank = [&](std::size_t i) {
    return i >= text.size() || std::string_view(" \t\r\n").find(text[i]) != std::string_view::npos;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return std::string(text.substr(0, i));
    if ((text[i] != '.' && text[i] != '!' && text[i] != '?') || !blank(i + 1)) continue;
    std::size_t next = i + 1;
    while (next < text.size() && blank(next)) ++next;
    if (next < text.size() && text[next] >= 'a' && text[next] <= 'z') continue;
    std::size_t begin = i;
    while (begin > 0 && !blank(begin - 1)) --begin;
    const std::string_view word = text.substr(begin, i - begin);
    const bool initial = word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z';
    bool title = word.find('.') != std::string_view::npos;
    for (const std::string_view known : titles) title = title || word == known;
    if (text[i] == '.' && next < text.size() && (initial || title)) continue;
    return std::string(text.substr(0, i + 1));
  }
  return std::string(text);
}

template <class = void>
Task<void> run_ircot(Path* path, BaselineOptions options) {
  constexpr std::size_t most = 15;  // paragraphs in a prompt
  co_await path->search(path->question());
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    std::optional<Proposal<rag::Action>> next =
        co_await path->draw("sentence", path->showing(path->all_documents(most)));
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) {
      co_await path->take(next->action);
      co_return;
    }
    const std::string sentence = first_sentence(next->action.text);
    path->add(rag::SegmentKind::thought, sentence);
    co_await path->search(sentence);
  }
  co_await path->ask("forced_answer", path->showing(path->all_documents(most)));
}

template <class = void>
Baseline ircot() {
  return {.name = "ircot",
          .prompts = ircot_prompts,
          .run = run_ircot,
          .defaults = {.rounds = 5, .documents = 6},
          .examples = as_sentences};
}

// Adaptive-RAG (Jeong et al. 2024): a router sends simple questions to the model alone (A), others to one search (B),
// and hard ones to IRCoT (C). The published router is a trained model. This one is a prompt.

inline rag::PromptSet adaptive_rag_prompts() {
  Protocol protocol{"adaptive-rag", {}, {}};
  rag::PromptSet::Texts texts;
  add_ircot(protocol, texts);
  protocol.tags.push_back({"choice", "Class:", "\n"});
  protocol.purposes.push_back({"route", {"question"}, {"choice"}});
  protocol.purposes.push_back({"direct", {"question"}, {"answer"}});
  texts["route"] =
      "How much must be looked up to answer this question? A: nothing, you know it for certain. B: one fact. C: "
      "several facts that build on each other.\nWrite one of these letters on a line after Class:\n" +
      words::question + "\n### Class\n";
  texts["direct"] =
      "Answer the question, on a line after So the answer is:\n" + words::brief + words::question + "\n### Answer\n";
  return prompt_set(std::move(protocol), std::move(texts));
}

template <class = void>
Task<void> run_adaptive_rag(Path* path, BaselineOptions options) {
  const std::optional<rag::Action> route = co_await path->ask("route", Path::Slots(), rag::SegmentKind::own_answer);
  if (!route) co_return;
  const char level = *rag::detail::read_choice(route->text);
  if (level == 'A') {
    co_await path->ask("direct");
  } else if (level == 'B') {
    co_await path->search(path->question());
    co_await path->ask("forced_answer", path->showing(path->documents()));
  } else {
    co_await run_ircot(path, options);
  }
}

template <class = void>
Baseline adaptive_rag() {
  return {.name = "adaptive-rag",
          .prompts = adaptive_rag_prompts,
          .run = run_adaptive_rag,
          .defaults = {.rounds = 5, .documents = 6},
          .examples = as_sentences};
}

}  // namespace espalier::method::baselines::detail
