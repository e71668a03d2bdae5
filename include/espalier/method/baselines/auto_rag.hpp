#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Auto-RAG (Yu et al. 2024): the model plans and searches in a dialogue. Passages it has seen are not shown again.
/// When its searches are used up, it writes passages itself. The published results need trained weights.
namespace espalier::method::baselines::detail {

inline rag::PromptSet auto_rag_prompts() {
  rag::PromptSet::Texts texts;
  texts["step"] =
      "Answer the question with the help of a search engine. Say what is known and what is missing; then write one "
      "line.\n"
      "To search, write one query on a line after Query:\nIf the last query did not help, word it anew after Refined "
      "Query:\nWhen all is known, write the answer on a line after Final Answer:\n" +
      words::brief + words::question + words::history + "\n### Next\n";
  texts["pseudo_document"] =
      "Write a short encyclopaedia passage that answers the query, from what you know.\n\n### Query\n{query}\n\n### "
      "Passage\n";
  texts["forced_answer"] = "Give the best answer to the question, on a line after Final Answer:\n" + words::brief +
                           words::question + words::history + "\n### Answer\n";
  return prompt_set({"auto-rag",
                     {{"step", {"question", "history"}, {"search", "answer"}},
                      {"pseudo_document", {"query"}, {"sub_answer"}},
                      {"forced_answer", {"question", "history"}, {"answer"}}},
                     {{"search", "Query:", "\n"},
                      {"answer", "Final Answer:", "\n"},
                      {"sub_answer", "", ""},
                      {"history.sub_answer", "Generated Document:", "\n"}},
                     "Retrieved Document_{rank}: {title}\n{text}\n"},
                    std::move(texts));
}

/// The thought before a query, without the word that makes it a "Refined Query:".
inline std::string before_query(std::string thought) {
  constexpr std::string_view refined = "Refined";
  if (thought.ends_with(refined)) thought.erase(thought.size() - refined.size());
  while (thought.ends_with('\n') || thought.ends_with(' ')) thought.pop_back();
  return thought;
}

template <class = void>
Task<void> run_auto_rag(Path* path, BaselineOptions options) {
  constexpr std::uint32_t written = 5;  // passages that the model writes itself
  for (std::uint32_t turn = 0; turn < options.rounds + written; ++turn) {
    const std::optional<Proposal<rag::Action>> next = co_await path->draw("step");
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) {
      co_await path->take(next->action);
      co_return;
    }
    const std::string thought = before_query(next->action.thought);
    if (!thought.empty()) path->add(rag::SegmentKind::thought, thought);
    if (turn < options.rounds) {
      co_await path->search_anew(next->action.text);
      continue;
    }
    path->add(rag::SegmentKind::query, next->action.text);
    co_await path->ask("pseudo_document", Path::with("query", next->action.text));
  }
  co_await path->ask("forced_answer");
}

template <class = void>
Baseline auto_rag() {
  return {.name = "auto-rag",
          .prompts = auto_rag_prompts,
          .run = run_auto_rag,
          .defaults = {.rounds = 10, .documents = 2},
          .sampling = {.max_tokens = 200}};
}

}  // namespace espalier::method::baselines::detail
