#pragma once

#include <espalier/method/baselines/detail/follow_up.hpp>

/// DeepRAG (Guan et al. 2025): each follow-up question is answered from the model's knowledge, or by a search if the
/// model marks that it does not know. The published results need trained weights.
namespace espalier::method::baselines::detail {

inline rag::PromptSet deeprag_prompts() {
  rag::PromptSet::Texts texts{{"next", next_text}, {"conclude", conclude_text}, {"forced_answer", final_text}};
  texts["settle"] =
      "You answer a question by asking simpler follow-up questions. If you know the answer to the last follow-up for "
      "certain, write it in "
      "one sentence, on a line after Intermediate answer:\nOtherwise look it up: write one query on a line after Let's "
      "search:\n" +
      words::question + words::history + "\n### Intermediate answer or search\n";
  Protocol protocol{"deeprag",
                    {{"next", {"question", "history"}, {"question", "answer"}},
                     {"settle", {"question", "history"}, {"sub_answer", "search"}},
                     {"conclude", {"question", "history"}, {"sub_answer"}},
                     {"forced_answer", {"question", "history"}, {"answer"}}},
                    follow_up_tags(),
                    words::document};
  return prompt_set(std::move(protocol), std::move(texts));
}

template <class = void>
Task<void> run_deeprag(Path* path, BaselineOptions options) {
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const std::optional<rag::Action> next = co_await path->ask("next");
    if (!next || next->kind == rag::SegmentKind::answer) co_return;
    const std::optional<rag::Action> settled = co_await path->ask("settle");
    if (!settled) co_return;
    if (settled->kind == rag::SegmentKind::query) co_await path->ask("conclude");
  }
  co_await path->ask("forced_answer");
}

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline deeprag() {
  return {.name = "deeprag",
          .prompts = detail::deeprag_prompts,
          .run = detail::run_deeprag,
          .defaults = {.rounds = 6, .documents = 3},
          .examples = detail::as_follow_ups};
}

}  // namespace espalier::method::baselines
