#pragma once

#include <espalier/method/baselines/standard_rag.hpp>

/// Iter-RetGen (Shao et al. 2023): rounds of search and answer. Each query is the question followed by the last round's
/// output. Each prompt shows only the newest documents. The last output is the answer.
namespace espalier::method::baselines::detail {

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

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline iter_retgen() {
  return {.name = "iter-retgen",
          .prompts = detail::standard_rag_prompts,
          .run = detail::run_iter_retgen,
          .defaults = {.rounds = 3, .documents = 3}};
}

}  // namespace espalier::method::baselines
