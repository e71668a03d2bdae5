#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// HiPRAG (Wu et al. 2025): each step has reasoning, an optional search, and a conclusion. A step that searches takes
/// two replies. The published results need trained weights.
namespace espalier::method::baselines::detail {

inline rag::PromptSet hiprag_prompts() {
  rag::PromptSet::Texts texts;
  texts["step"] =
      "Answer the question in steps. In each step say first, inside <reasoning></reasoning>, what it settles.\n"
      "If you know it, put what you conclude inside <conclusion></conclusion>.\n"
      "Otherwise search: put one query inside <search></search>. What is found stands inside <context></context>; "
      "conclude from it in the next reply.\n"
      "When the conclusions settle the question, put the answer inside <answer></answer>.\n" +
      words::brief + words::question + words::history + "\n### Next\n";
  texts["forced_answer"] =
      "Give the answer that the conclusions below support best. Put it inside <answer></answer>.\n" + words::brief +
      words::question + words::history + "\n### Answer\n";
  return prompt_set({"hiprag",
                     {{"step", {"question", "history"}, {"search", "sub_answer", "answer"}},
                      {"forced_answer", {"question", "history"}, {"answer"}}},
                     {{"thought", "<reasoning>", "</reasoning>"},
                      {"search", "<search>", "</search>"},
                      {"information", "<context>", "</context>"},
                      {"sub_answer", "<conclusion>", "</conclusion>"},
                      {"answer", "<answer>", "</answer>"}},
                     words::document},
                    std::move(texts));
}

template <class = void>
Task<void> run_hiprag(Path* path, BaselineOptions options) {
  std::uint32_t steps = 0;
  for (bool searched = false; steps < options.rounds || searched;) {
    const std::optional<rag::Action> next = co_await path->ask("step");
    if (!next || next->kind == rag::SegmentKind::answer) co_return;
    const bool concludes = searched && next->kind == rag::SegmentKind::sub_answer;
    if (!concludes) ++steps;
    searched = next->kind == rag::SegmentKind::query && steps <= options.rounds;
  }
  co_await path->ask("forced_answer");
}

template <class = void>
Baseline hiprag() {
  return {.name = "hiprag",
          .prompts = hiprag_prompts,
          .run = run_hiprag,
          .defaults = {.rounds = 10, .documents = 3},
          .sampling = {.max_tokens = 1024}};
}

}  // namespace espalier::method::baselines::detail
