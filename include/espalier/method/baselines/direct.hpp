#pragma once

#include <espalier/method/detail/baseline.hpp>

/// Direct answering, also called zero-shot or naive generation: one call that sees only the question.
namespace espalier::method::baselines::detail {

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
  return {"direct", direct_prompts, run_direct};
}

}  // namespace espalier::method::baselines::detail
