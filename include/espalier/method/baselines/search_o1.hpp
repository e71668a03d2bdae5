#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Search-o1 (Li et al. 2025): a reasoning model that may search while it thinks. A separate call (Reason-in-Documents)
/// condenses what was found before it enters the reasoning. RAgent, the plain agent of the same paper, shows the
/// documents unchanged.
namespace espalier::method::baselines::detail {

/// Thinks and searches. `condense` is true for Search-o1 and false for RAgent.
template <bool condense>
Task<void> run_reasoning_agent(Path* path, BaselineOptions options) {
  const std::uint32_t turns = condense ? options.rounds + 5 : 2 * options.rounds;
  std::uint32_t searches = 0;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const std::optional<Proposal<rag::Action>> next = co_await path->draw("step");
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) co_return co_await path->take(next->action);
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

/// A reasoning agent with the marks of its results, and with what it asks beside its steps.
inline Baseline reasoning_agent(const std::string& name, std::vector<Protocol::Tag> tags, const Prompts& more) {
  Prompts prompts{
      {{"step", {"question", "history"}, {"search", "answer"}},
       "Reason about the question step by step. Whenever a fact is missing, search for it: put one query inside "
       "<|begin_search_query|><|end_search_query|>.\n"
       "What is found is put behind it, and you go on. When you are sure, write the answer inside \\boxed{}.\n" +
           words::brief + words::question + words::history + "\n### Your reasoning\n"},
      {{"forced_answer", {"question", "history"}, {"answer"}},
       "Give the answer that the reasoning below supports best, inside \\boxed{}.\n" + words::brief + words::question +
           words::history + "\n### Answer\n"}};
  prompts.insert(prompts.end(), more.begin(), more.end());
  tags.push_back({"search", "<|begin_search_query|>", "<|end_search_query|>"});
  tags.push_back({"answer", "\\boxed{", "}"});
  tags.push_back({"notice", "<|begin_search_result|>", "<|end_search_result|>"});
  Protocol marks{name, {}, std::move(tags)};
  const bool condense = !more.empty();
  if (condense) marks.hidden = {"information"};
  return {.name = name,
          .prompts = prompt_set(std::move(marks), prompts),
          .run = condense ? run_reasoning_agent<true> : run_reasoning_agent<false>,
          .defaults = {.rounds = condense ? 10U : 5U, .documents = 10},
          .sampling = {.temperature = 0.7, .top_p = 0.8, .top_k = 20}};
}

inline Baseline search_o1() {
  return reasoning_agent(
      "search-o1",
      {{"sub_answer", "**Final Information**", ""},
       {"history.sub_answer", "<|begin_search_result|>", "<|end_search_result|>"}},
      {{{"reason_in_documents", {"history", "query", "documents"}, {"sub_answer"}},
        "A reasoning has led to a search. Read what was found, and write down what helps the reasoning on: facts only, "
        "in a few sentences. If nothing helps, write: No helpful information found. Write it after the marker **Final "
        "Information**\n" +
            words::history + "\n### Query\n{query}\n" + words::documents + "\n### Information\n"}});
}
inline Baseline ragent() {
  return reasoning_agent("ragent", {{"information", "<|begin_search_result|>", "<|end_search_result|>"}}, {});
}

}  // namespace espalier::method::baselines::detail
