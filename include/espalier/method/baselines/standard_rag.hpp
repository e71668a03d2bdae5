#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Baselines that search with the question, and answer from what was found.
namespace espalier::method::baselines::detail {

// Standard RAG: one search with the question, then one call that sees what was found.

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

template <class = void>
Baseline standard_rag() {
  return {
      .name = "standard-rag", .prompts = standard_rag_prompts, .run = run_standard_rag, .defaults = {.documents = 3}};
}

// Iter-RetGen (Shao et al. 2023): rounds of search and answer. Each query is the question followed by the last round's
// output. Each prompt shows only the newest documents. The last output is the answer.

template <class = void>
Task<void> run_iter_retgen(Path* path, BaselineOptions options) {
  std::string query = path->question();
  for (std::uint32_t round = 1; round < options.rounds; ++round) {
    co_await path->search(query);
    const std::optional<rag::Action> output =
        co_await path->ask("answer", path->showing(path->documents()), rag::SegmentKind::sub_answer);
    if (!output) co_return;
    query = path->question() + " " + output->text;
  }
  co_await path->search(query);
  co_await path->ask("answer", path->showing(path->documents()));
}

template <class = void>
Baseline iter_retgen() {
  return {.name = "iter-retgen",
          .prompts = standard_rag_prompts,
          .run = run_iter_retgen,
          .defaults = {.rounds = 3, .documents = 3}};
}

}  // namespace espalier::method::baselines::detail
