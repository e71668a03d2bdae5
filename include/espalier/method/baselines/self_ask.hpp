#pragma once

#include <espalier/method/baselines/detail/follow_up.hpp>

/// Self-Ask (Press et al. 2023) with a search engine: each follow-up question is searched and answered from what was
/// found, until the final answer can be given.
namespace espalier::method::baselines::detail {

inline rag::PromptSet self_ask_prompts() {
  rag::PromptSet::Texts texts{{"next", next_text}, {"conclude", conclude_text}, {"forced_answer", final_text}};
  Protocol protocol{"self-ask",
                    {{"next", {"question", "history"}, {"question", "answer"}},
                     {"conclude", {"question", "history"}, {"sub_answer"}},
                     {"forced_answer", {"question", "history"}, {"answer"}}},
                    follow_up_tags(),
                    words::document,
                    {"search"}};
  return prompt_set(std::move(protocol), std::move(texts));
}

/// Asks, searches and concludes until there is an answer.
template <class = void>
Task<void> run_self_ask(Path* path, BaselineOptions options) {
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const std::optional<rag::Action> next = co_await path->ask("next");
    if (!next || next->kind == rag::SegmentKind::answer) co_return;
    co_await path->search(next->text);
    co_await path->ask("conclude");
  }
  co_await path->ask("forced_answer");
}

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline self_ask() {
  return {.name = "self-ask",
          .prompts = detail::self_ask_prompts,
          .run = detail::run_self_ask,
          .defaults = {.rounds = 5, .documents = 3},
          .examples = detail::as_follow_ups};
}

}  // namespace espalier::method::baselines
