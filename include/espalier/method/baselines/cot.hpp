#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Chain of thought (Wei et al. 2022): one call that thinks before a marker and answers after it.
namespace espalier::method::baselines::detail {

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
Task<void> run_cot(Path* path, BaselineOptions) {
  co_await path->ask("answer");
}

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline cot() {
  return {.name = "cot", .prompts = detail::cot_prompts, .run = detail::run_cot, .examples = detail::as_sentences};
}

}  // namespace espalier::method::baselines
