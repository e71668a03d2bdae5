#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Standard RAG: one search with the question, then one call that sees what was found.
namespace espalier::method::baselines::detail {

inline rag::PromptSet standard_rag_prompts() {
  rag::PromptSet::Texts texts;
  texts["answer"] = "Answer the question from the documents. Write nothing but the answer.\n" + words::brief +
                    words::documents + words::question + "\n### Answer\n";
  return prompt_set(
      {"standard-rag", {{"answer", {"documents", "question"}, {"answer"}}}, {{"answer", "", ""}}, words::document},
      std::move(texts));
}

template <class = void>
Task<void> run_standard_rag(Path* path, BaselineOptions) {
  co_await path->search(path->question());
  co_await path->ask("answer", path->showing(path->documents()));
}

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline standard_rag() {
  return {.name = "standard-rag",
          .prompts = detail::standard_rag_prompts,
          .run = detail::run_standard_rag,
          .defaults = {.documents = 3}};
}

}  // namespace espalier::method::baselines
