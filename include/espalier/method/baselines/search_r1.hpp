#pragma once

#include <espalier/method/baselines/baseline.hpp>

/// Search-R1 (Jin et al. 2025) and IKEA (Huang et al. 2025): think, search, read and answer in one prompt. After the
/// last turn comes one more reply, whose search is not executed. The published results need trained weights.
namespace espalier::method::baselines::detail {

inline rag::PromptSet search_r1_form(std::string name, const std::string& how) {
  rag::PromptSet::Texts texts;
  texts["step"] = how +
                  "\nThink first, inside <think></think>. To search, put one query inside <search></search>; what is "
                  "found stands inside <information></information>. To answer, put the answer inside "
                  "<answer></answer>.\n" +
                  words::brief + words::question + words::history + "\n### Next\n";
  return prompt_set({std::move(name),
                     {{"step", {"question", "history"}, {"search", "answer"}}},
                     {{"thought", "<think>", "</think>"},
                      {"search", "<search>", "</search>"},
                      {"information", "<information>", "</information>"},
                      {"answer", "<answer>", "</answer>"}},
                     words::document},
                    std::move(texts));
}
inline rag::PromptSet search_r1_prompts() {
  return search_r1_form("search-r1",
                        "Answer the question. Think whenever something new is known; if knowledge is missing, search "
                        "as often as you like.");
}
inline rag::PromptSet ikea_prompts() {
  return search_r1_form("ikea",
                        "Answer the question. Use what you know yourself first; search only for what you do not know.");
}

template <class = void>
Task<void> run_search_r1(Path* path, BaselineOptions options) {
  std::string question = path->question();
  if (!question.ends_with('?')) question += '?';
  for (std::uint32_t turn = 0; turn < options.rounds; ++turn) {
    const std::optional<rag::Sampler::Sample> drawn = co_await path->sample("step", Path::with("question", question));
    if (!drawn) co_return;
    if (!drawn->reply) {
      path->add(rag::SegmentKind::thought, drawn->raw.str());
      path->notice(
          "That was neither a search inside <search></search> nor an answer inside <answer></answer>. Try "
          "again.");
      continue;
    }
    const bool answers = drawn->reply->tag == "answer";
    const rag::SegmentKind kind = answers ? rag::SegmentKind::answer : rag::SegmentKind::query;
    rag::Action action(kind, drawn->reply->content, drawn->reply->thought, drawn->reply->content);
    if (answers || options.observation == 0) co_await path->take(std::move(action));
    else co_await path->take_cut(std::move(action), 4 * options.observation);
    if (answers) co_return;
  }
  const std::optional<Proposal<rag::Action>> last = co_await path->draw("step", Path::with("question", question));
  if (last) path->add(last->action.kind, last->action.text, last->action.thought);
}

/// Replies and documents have at most 500 tokens each.
template <class = void>
Baseline search_r1_agent(std::string name, rag::PromptSet (*prompts)(), std::uint32_t turns) {
  const BaselineOptions options{.rounds = turns, .documents = 3, .observation = 500};
  return {std::move(name), prompts, run_search_r1, options, false, {.max_tokens = 500}};
}

template <class = void>
Baseline search_r1() {
  return search_r1_agent("search-r1", search_r1_prompts, 4);
}
template <class = void>
Baseline ikea() {
  return search_r1_agent("ikea", ikea_prompts, 3);
}

}  // namespace espalier::method::baselines::detail
