#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Baselines whose first reply comes from memory.
namespace espalier::method::baselines::detail {

// Judge-then-retrieve: one call says whether documents are needed, and the answer is given with or without them.

inline void add_two_answers(Protocol& protocol, rag::PromptSet::Texts& texts) {
  protocol.purposes.push_back({"direct", {"question"}, {"answer"}});
  protocol.purposes.push_back({"answer", {"documents", "question"}, {"answer"}});
  texts["direct"] =
      "Answer the question, on a line after Answer:\n" + words::brief + words::question + "\n### Answer\n";
  texts["answer"] = "Answer the question from the documents, on a line after Answer:\n" + words::brief +
                    words::documents + words::question + "\n### Answer\n";
}

inline rag::PromptSet judge_then_retrieve_prompts() {
  Protocol protocol{"judge-then-retrieve",
                    {{"judge", {"question"}, {"verdict"}}},
                    {{"verdict", "", ""}, {"answer", "Answer:", "\n"}},
                    words::document};
  rag::PromptSet::Texts texts;
  texts["judge"] =
      "Must something be looked up to answer this question, or do you know it for certain? Write yes if it must be "
      "looked up, else no.\n" +
      words::question + "\n### yes or no\n";
  add_two_answers(protocol, texts);
  return prompt_set(std::move(protocol), std::move(texts));
}

template <class = void>
Task<void> run_judge_then_retrieve(Path* path, BaselineOptions) {
  const std::optional<rag::Action> verdict = co_await path->ask("judge", Path::Slots(), rag::SegmentKind::thought);
  if (!verdict) co_return;
  if (!*rag::detail::read_verdict(verdict->text)) {
    co_await path->ask("direct");
    co_return;
  }
  co_await path->search(path->question());
  co_await path->ask("answer", path->showing(path->documents()));
}

template <class = void>
Baseline judge_then_retrieve() {
  return {"judge-then-retrieve", judge_then_retrieve_prompts, run_judge_then_retrieve, {.documents = 3}};
}

// Generate-then-retrieve: a first answer from memory becomes part of the query. The second answer sees what was found.

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

template <class = void>
Baseline generate_then_retrieve() {
  return {.name = "generate-then-retrieve",
          .prompts = generate_then_retrieve_prompts,
          .run = run_generate_then_retrieve,
          .defaults = {.documents = 3}};
}

}  // namespace espalier::method::baselines::detail
