#pragma once

#include <espalier/method/baselines/self_ask.hpp>

/// IterDRAG (Yue et al. 2024): Self-Ask that starts from documents for the whole question and searches for every follow-up.
/// The published scaling adds examples and documents to the prompt and runs it many times: `documents`, `--prompts` and
/// `--match-budget`.
namespace espalier::method::baselines {

inline Task<void> run_iterdrag(Path* path, BaselineOptions options) {
  co_await path->search(path->question());
  co_await run_self_ask(path, options);
}

inline Baseline iterdrag() { return {"iterdrag", self_ask_prompts, run_iterdrag, {.rounds = 5, .documents = 3}}; }

}  // namespace espalier::method::baselines
