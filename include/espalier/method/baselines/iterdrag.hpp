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

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline iterdrag() {
  return {.name = "iterdrag",
          .prompts = detail::self_ask_prompts,
          .run = detail::run_iterdrag,
          .defaults = {.rounds = 5, .documents = 3},
          .examples = detail::as_follow_ups};
}

}  // namespace espalier::method::baselines
