#pragma once

#include <espalier/method/baselines/ircot.hpp>

/// Adaptive-RAG (Jeong et al. 2024): a router sends simple questions to the model alone (A), others to one search (B),
/// and hard ones to IRCoT (C). The published router is a trained model. This one is a prompt.
namespace espalier::method::baselines::detail {

inline rag::PromptSet adaptive_rag_prompts() {
  Protocol protocol{"adaptive-rag", {}, {}};
  rag::PromptSet::Texts texts;
  add_ircot(protocol, texts);
  protocol.tags.push_back({"choice", "Class:", "\n"});
  protocol.purposes.push_back({"route", {"question"}, {"choice"}});
  protocol.purposes.push_back({"direct", {"question"}, {"answer"}});
  texts["route"] =
      "How much must be looked up to answer this question? A: nothing, you know it for certain. B: one fact. C: "
      "several facts that build on each other.\nWrite one of these letters on a line after Class:\n" +
      words::question + "\n### Class\n";
  texts["direct"] =
      "Answer the question, on a line after So the answer is:\n" + words::brief + words::question + "\n### Answer\n";
  return prompt_set(std::move(protocol), std::move(texts));
}

template <class = void>
Task<void> run_adaptive_rag(Path* path, BaselineOptions options) {
  const std::optional<rag::Action> route = co_await path->ask("route", Path::Slots(), rag::SegmentKind::own_answer);
  if (!route) co_return;
  const char level = *rag::detail::read_choice(route->text);
  if (level == 'A') {
    co_await path->ask("direct");
  } else if (level == 'B') {
    co_await path->search(path->question());
    co_await path->ask("forced_answer", path->showing(path->documents()));
  } else {
    co_await run_ircot(path, options);
  }
}

}  // namespace espalier::method::baselines::detail

namespace espalier::method::baselines {

template <class = void>
Baseline adaptive_rag() {
  return {.name = "adaptive-rag",
          .prompts = detail::adaptive_rag_prompts,
          .run = detail::run_adaptive_rag,
          .defaults = {.rounds = 5, .documents = 6},
          .examples = detail::as_sentences};
}

}  // namespace espalier::method::baselines
