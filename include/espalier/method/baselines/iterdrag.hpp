#pragma once

#include <espalier/method/baselines/self_ask.hpp>

/// IterDRAG (Yue et al. 2024): Self-Ask that starts with documents for the whole question and searches for every
/// follow-up. For the published scaling with more examples, documents and runs, use `shots`, `documents` and
/// `--match-budget`.
namespace espalier::method::baselines::detail {

template <class = void>
Task<void> run_iterdrag(Path* path, BaselineOptions options) {
  co_await path->search(path->question());
  co_await run_self_ask(path, options);
}

template <class = void>
Baseline iterdrag() {
  return {"iterdrag", self_ask_prompts, run_iterdrag, {.rounds = 5, .documents = 3}, false, {}, as_follow_ups};
}

}  // namespace espalier::method::baselines::detail
