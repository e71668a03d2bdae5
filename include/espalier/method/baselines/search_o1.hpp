#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Search-o1 (Li et al. 2025): a reasoning model that may search while it thinks. A separate call (Reason-in-Documents)
/// condenses what was found before it enters the reasoning. RAgent, the plain agent of the same paper, shows the
/// documents unchanged.
namespace espalier::method::baselines::detail {

inline Protocol search_o1_protocol(std::string name, std::vector<Protocol::Tag> more) {
  Protocol protocol{
      std::move(name),
      {{"step", {"question", "history"}, {"search", "answer"}}, {"forced_answer", {"question", "history"}, {"answer"}}},
      std::move(more)};
  protocol.tags.push_back({"search", "<|begin_search_query|>", "<|end_search_query|>"});
  protocol.tags.push_back({"answer", "\\boxed{", "}"});
  protocol.tags.push_back({"notice", "<|begin_search_result|>", "<|end_search_result|>"});
  return protocol;
}
inline rag::PromptSet::Texts search_o1_texts() {
  rag::PromptSet::Texts texts;
  texts["step"] =
      "Reason about the question step by step. Whenever a fact is missing, search for it: put one query inside "
      "<|begin_search_query|><|end_search_query|>.\n"
      "What is found is put behind it, and you go on. When you are sure, write the answer inside \\boxed{}.\n" +
      words::brief + words::question + words::history + "\n### Your reasoning\n";
  texts["forced_answer"] = "Give the answer that the reasoning below supports best, inside \\boxed{}.\n" +
                           words::brief + words::question + words::history + "\n### Answer\n";
  return texts;
}

inline rag::PromptSet search_o1_prompts() {
  Protocol protocol =
      search_o1_protocol("search-o1", {{"sub_answer", "**Final Information**", ""},
                                       {"history.sub_answer", "<|begin_search_result|>", "<|end_search_result|>"}});
  protocol.purposes.push_back({"reason_in_documents", {"history", "query", "documents"}, {"sub_answer"}});
  protocol.hidden = {"information"};
  rag::PromptSet::Texts texts = search_o1_texts();
  texts["reason_in_documents"] =
      "A reasoning has led to a search. Read what was found, and write down what helps the reasoning on: facts only, "
      "in a few sentences. If nothing helps, write: No helpful information found. Write it after the marker **Final "
      "Information**\n" +
      words::history + "\n### Query\n{query}\n" + words::documents + "\n### Information\n";
  return prompt_set(std::move(protocol), std::move(texts));
}

inline rag::PromptSet ragent_prompts() {
  return prompt_set(search_o1_protocol("ragent", {{"information", "<|begin_search_result|>", "<|end_search_result|>"}}),
                    search_o1_texts());
}

/// Thinks and searches. `condense` is true for Search-o1 and false for RAgent.
template <class = void>
Task<void> run_reasoning_agent(Path* path, BaselineOptions options, std::uint32_t turns, bool condense) {
  std::uint32_t searches = 0;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const std::optional<Proposal<rag::Action>> next = co_await path->draw("step");
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) {
      co_await path->take(next->action);
      co_return;
    }
    const bool repeated = path->asked_before(next->action.text);
    if (repeated || searches == options.rounds) {
      path->add(rag::SegmentKind::query, next->action.text, next->action.thought);
      path->notice(repeated ? "This query was asked before; its result stands above."
                            : "No searches are left. Answer from what stands above.");
      continue;
    }
    ++searches;
    co_await path->take(next->action);
    if (!condense) continue;
    Path::Slots slots = path->showing(path->documents(), Path::with("query", next->action.text));
    const std::optional<rag::Reply> facts = co_await path->consult("reason_in_documents", std::move(slots));
    path->add(rag::SegmentKind::sub_answer, facts ? facts->content : "No helpful information found.");
  }
  co_await path->ask("forced_answer");
}
template <class = void>
Task<void> run_search_o1(Path* path, BaselineOptions options) {
  return run_reasoning_agent(path, options, options.rounds + 5, true);
}
template <class = void>
Task<void> run_ragent(Path* path, BaselineOptions options) {
  return run_reasoning_agent(path, options, 2 * options.rounds, false);
}

inline Sampling search_o1_sampling() { return {.temperature = 0.7, .top_p = 0.8, .top_k = 20}; }

template <class = void>
Baseline search_o1() {
  const BaselineOptions options{.rounds = 10, .documents = 10};
  return {.name = "search-o1",
          .prompts = search_o1_prompts,
          .run = run_search_o1,
          .defaults = options,
          .sampling = search_o1_sampling()};
}
template <class = void>
Baseline ragent() {
  const BaselineOptions options{.rounds = 5, .documents = 10};
  return {.name = "ragent",
          .prompts = ragent_prompts,
          .run = run_ragent,
          .defaults = options,
          .sampling = search_o1_sampling()};
}

}  // namespace espalier::method::baselines::detail
