#pragma once

#include <espalier/method/baselines/judge_then_retrieve.hpp>

/// Generate-then-retrieve: a first answer from memory becomes part of the query. The second answer sees what was found.
namespace espalier::method::baselines::detail {

inline rag::PromptSet generate_then_retrieve_prompts() {
  Protocol protocol{"generate-then-retrieve", {}, {{"answer", "Answer:", "\n"}}, words::document};
  rag::PromptSet::Texts texts;
  add_two_answers(protocol, texts);
  return prompt_set(std::move(protocol), std::move(texts));
}

template <class = void>
Task<void> run_generate_then_retrieve(Path* path, BaselineOptions) {
  const std::optional<rag::Action> first = co_await path->ask("direct", Path::Slots(), rag::SegmentKind::sub_answer);
  if (!first) co_return;
  co_await path->search(path->question() + " " + first->text);
  co_await path->ask("answer", path->showing(path->documents()));
}

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline generate_then_retrieve() {
  return {.name = "generate-then-retrieve",
          .prompts = detail::generate_then_retrieve_prompts,
          .run = detail::run_generate_then_retrieve,
          .defaults = {.documents = 3}};
}

}  // namespace espalier::method::baselines
