#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// Baselines that ask simpler follow-up questions.
namespace espalier::method::baselines::detail {

// Self-Ask (Press et al. 2023) with a search engine: each follow-up is searched and answered from what was found.

/// The marks of Self-Ask and of the systems derived from it.
inline std::vector<Protocol::Tag> follow_up_tags() {
  return {{"question", "Follow up:", "\n"},
          {"sub_question", "Follow up:", "\n"},
          {"search", "Let's search:", "\n"},
          {"information", "Context:", "\n"},
          {"sub_answer", "Intermediate answer:", "\n"},
          {"answer", "So the final answer is:", "\n"}};
}

inline Prompts follow_up_asks() {
  return {{{"next", {"question", "history"}, {"question", "answer"}},
           "You answer a question by asking simpler follow-up questions. If something is still missing, write the next "
           "one on a line after Follow up:\nOtherwise write the answer on a line after So the final answer is:\n" +
               words::brief + words::question + words::history + "\n### Next\n"},
          {{"conclude", {"question", "history"}, {"sub_answer"}},
           "You answer a question by asking simpler follow-up questions. Answer the last follow-up from its context, "
           "in one sentence, on a line after Intermediate answer:\n" +
               words::question + words::history + "\n### Intermediate answer\n"},
          {{"forced_answer", {"question", "history"}, {"answer"}},
           "No more follow-up questions can be asked. Give the best answer to the question, on a line after So the "
           "final answer is:\n" +
               words::brief + words::question + words::history + "\n### Final answer\n"}};
}

/// Asks, searches and concludes until there is an answer.
inline Task<void> run_self_ask(Path* path, BaselineOptions options) {
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const std::optional<rag::Action> next = co_await path->ask("next");
    if (!next || next->kind == rag::SegmentKind::answer) co_return;
    co_await path->search(next->text);
    co_await path->ask("conclude");
  }
  co_await path->ask("forced_answer");
}

inline Baseline self_ask() {
  return {.name = "self-ask",
          .prompts = prompt_set({"self-ask", {}, follow_up_tags(), words::document, {"search"}}, follow_up_asks()),
          .run = run_self_ask,
          .defaults = {.rounds = 5, .documents = 3},
          .examples = as_follow_ups};
}

// IterDRAG (Yue et al. 2024): Self-Ask that starts with documents for the whole question and searches for every
// follow-up. The published scaling is done by `shots`, `documents` and `--match-budget`.

inline Task<void> run_iterdrag(Path* path, BaselineOptions options) {
  co_await path->search(path->question());
  co_await run_self_ask(path, options);
}

inline Baseline iterdrag() {
  Baseline other = self_ask();
  other.name = "iterdrag";
  other.run = run_iterdrag;
  return other;
}

// DeepRAG (Guan et al. 2025): each follow-up question is answered from the model's knowledge, or by a search if the
// model marks that it does not know. The published results need trained weights.

inline Task<void> run_deeprag(Path* path, BaselineOptions options) {
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const std::optional<rag::Action> next = co_await path->ask("next");
    if (!next || next->kind == rag::SegmentKind::answer) co_return;
    const std::optional<rag::Action> settled = co_await path->ask("settle");
    if (!settled) co_return;
    if (settled->kind == rag::SegmentKind::query) co_await path->ask("conclude");
  }
  co_await path->ask("forced_answer");
}

inline Baseline deeprag() {
  Prompts prompts = follow_up_asks();
  prompts.insert(
      prompts.begin() + 1,
      {{"settle", {"question", "history"}, {"sub_answer", "search"}},
       "You answer a question by asking simpler follow-up questions. If you know the answer to the last follow-up for "
       "certain, write it in one sentence, on a line after Intermediate answer:\nOtherwise look it up: write one query "
       "on a line after Let's search:\n" +
           words::question + words::history + "\n### Intermediate answer or search\n"});
  return {.name = "deeprag",
          .prompts = prompt_set({"deeprag", {}, follow_up_tags(), words::document}, prompts),
          .run = run_deeprag,
          .defaults = {.rounds = 6, .documents = 3},
          .examples = as_follow_ups};
}

}  // namespace espalier::method::baselines::detail
