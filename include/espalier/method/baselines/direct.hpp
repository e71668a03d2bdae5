#pragma once

#include <espalier/method/baselines/baseline.hpp>

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

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline direct() {
  return {.name = "direct", .prompts = detail::direct_prompts, .run = detail::run_direct};
}

}  // namespace espalier::method::baselines
