#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Baselines of one call without documents.
namespace espalier::method::baselines::detail {

// Direct answering, also called zero-shot or naive generation: one call that sees only the question.

inline rag::PromptSet direct_prompts() {
  rag::PromptSet::Texts texts;
  texts["answer"] =
      "Answer the question. Write nothing but the answer.\n" + words::brief + words::question + "\n### Answer\n";
  return prompt_set({"direct", {{"answer", {"question"}, {"answer"}}}, {{"answer", "", ""}}}, std::move(texts));
}

template <class = void>
Task<void> run_direct(Path* path, BaselineOptions) {
  co_await path->ask("answer");
}

template <class = void>
Baseline direct() {
  return {.name = "direct", .prompts = direct_prompts, .run = run_direct};
}

// Chain of thought (Wei et al. 2022): one call that thinks before a marker and answers after it.

inline rag::PromptSet cot_prompts() {
  rag::PromptSet::Texts texts;
  texts["answer"] =
      "Think about the question step by step. Then write the answer on a line of its own, after So the "
      "answer is:\n" +
      words::brief + words::question + "\n### Thoughts and answer\n";
  return prompt_set({"cot", {{"answer", {"question"}, {"answer"}}}, {{"answer", "So the answer is:", "\n"}}},
                    std::move(texts));
}

template <class = void>
Baseline cot() {
  return {.name = "cot", .prompts = cot_prompts, .run = run_direct, .examples = as_sentences};
}

}  // namespace espalier::method::baselines::detail
