#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Agents that think and search in one prompt. The published results need trained weights, those of Search-o1 excepted.
namespace espalier::method::baselines::detail {

// Search-R1 (Jin et al. 2025) and IKEA (Huang et al. 2025): think, search, read, answer. The last search is not run.

inline Task<void> run_search_r1(Path* path, BaselineOptions options) {
  std::string question = path->question();
  if (!question.ends_with('?')) question += '?';
  for (std::uint32_t turn = 0; turn < options.rounds; ++turn) {
    const std::optional<rag::Sampler::Sample> drawn = co_await path->sample("step", Path::with("question", question));
    if (!drawn) co_return;
    if (!drawn->reply) {
      path->add(rag::SegmentKind::thought, drawn->raw.str(), "", drawn->raw.source());
      path->notice(
          "That was neither a search inside <search></search> nor an answer inside <answer></answer>. Try "
          "again.");
      continue;
    }
    const bool answers = drawn->reply->tag == "answer";
    const rag::SegmentKind kind = answers ? rag::SegmentKind::answer : rag::SegmentKind::query;
    rag::Action action(kind, drawn->reply->content, drawn->reply->thought, drawn->reply->content);
    action.source = drawn->raw.source();
    if (answers || options.observation == 0) co_await path->take(std::move(action));
    else co_await path->take_cut(std::move(action), 4 * options.observation);
    if (answers) co_return;
  }
  const std::optional<Proposal<rag::Action>> last = co_await path->draw("step", Path::with("question", question));
  if (last) path->add(last->action.kind, last->action.text, last->action.thought, last->action.source);
}

/// Replies and documents have at most 500 tokens each.
inline Baseline search_r1_agent(const std::string& name, const std::string& how, std::uint32_t turns) {
  const std::string text = how +
                           "\nThink first, inside <think></think>. To search, put one query inside <search></search>; "
                           "what is found stands inside <information></information>. To answer, put the answer inside "
                           "<answer></answer>.\n" +
                           words::brief + words::question + words::history + "\n### Next\n";
  return {.name = name,
          .prompts = prompt_set({name,
                                 {},
                                 {{"thought", "<think>", "</think>"},
                                  {"search", "<search>", "</search>"},
                                  {"information", "<information>", "</information>"},
                                  {"answer", "<answer>", "</answer>"}},
                                 words::document},
                                {{{"step", {"question", "history"}, {"search", "answer"}}, text}}),
          .run = run_search_r1,
          .defaults = {.rounds = turns, .documents = 3, .observation = 500},
          .sampling = {.max_tokens = 500}};
}

inline Baseline search_r1() {
  return search_r1_agent("search-r1",
                         "Answer the question. Think whenever something new is known; if knowledge is missing, search "
                         "as often as you like.",
                         4);
}
inline Baseline ikea() {
  return search_r1_agent(
      "ikea", "Answer the question. Use what you know yourself first; search only for what you do not know.", 3);
}

// HiPRAG (Wu et al. 2025): each step has reasoning, perhaps a search, and a conclusion. A search takes two replies.

inline Task<void> run_hiprag(Path* path, BaselineOptions options) {
  std::uint32_t steps = 0;
  for (bool searched = false; steps < options.rounds || searched;) {
    const std::optional<rag::Action> next = co_await path->ask("step");
    if (!next || next->kind == rag::SegmentKind::answer) co_return;
    const bool concludes = searched && next->kind == rag::SegmentKind::sub_answer;
    if (!concludes) ++steps;
    searched = next->kind == rag::SegmentKind::query && steps <= options.rounds;
  }
  co_await path->ask("forced_answer");
}

inline Baseline hiprag() {
  const Prompts prompts{
      {{"step", {"question", "history"}, {"search", "sub_answer", "answer"}},
       "Answer the question in steps. In each step say first, inside <reasoning></reasoning>, what it settles.\n"
       "If you know it, put what you conclude inside <conclusion></conclusion>.\n"
       "Otherwise search: put one query inside <search></search>. What is found stands inside <context></context>; "
       "conclude from it in the next reply.\n"
       "When the conclusions settle the question, put the answer inside <answer></answer>.\n" +
           words::brief + words::question + words::history + "\n### Next\n"},
      {{"forced_answer", {"question", "history"}, {"answer"}},
       "Give the answer that the conclusions below support best. Put it inside <answer></answer>.\n" + words::brief +
           words::question + words::history + "\n### Answer\n"}};
  return {.name = "hiprag",
          .prompts = prompt_set({"hiprag",
                                 {},
                                 {{"thought", "<reasoning>", "</reasoning>"},
                                  {"search", "<search>", "</search>"},
                                  {"information", "<context>", "</context>"},
                                  {"sub_answer", "<conclusion>", "</conclusion>"},
                                  {"answer", "<answer>", "</answer>"}},
                                 words::document},
                                prompts),
          .run = run_hiprag,
          .defaults = {.rounds = 10, .documents = 3},
          .sampling = {.max_tokens = 1024}};
}

// Auto-RAG (Yu et al. 2024): a dialogue that searches and shows each passage once. At last the model writes passages.

/// The thought before a query, without the word that makes it a "Refined Query:".
inline std::string before_query(std::string thought) {
  constexpr std::string_view refined = "Refined";
  if (thought.ends_with(refined)) thought.erase(thought.size() - refined.size());
  while (thought.ends_with('\n') || thought.ends_with(' ')) thought.pop_back();
  return thought;
}

inline Task<void> run_auto_rag(Path* path, BaselineOptions options) {
  constexpr std::uint32_t written = 5;  // passages that the model writes itself
  for (std::uint32_t turn = 0; turn < options.rounds + written; ++turn) {
    const std::optional<Proposal<rag::Action>> next = co_await path->draw("step");
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) co_return co_await path->take(next->action);
    const std::string thought = before_query(next->action.thought);
    if (!thought.empty()) path->add(rag::SegmentKind::thought, thought);
    if (turn < options.rounds) {
      co_await path->search_anew(next->action.text);
      continue;
    }
    path->add(rag::SegmentKind::query, next->action.text, "", next->action.source);
    co_await path->ask("pseudo_document", Path::with("query", next->action.text));
  }
  co_await path->ask("forced_answer");
}

inline Baseline auto_rag() {
  const Prompts prompts{
      {{"step", {"question", "history"}, {"search", "answer"}},
       "Answer the question with the help of a search engine. Say what is known and what is missing; then write one "
       "line.\n"
       "To search, write one query on a line after Query:\nIf the last query did not help, word it anew after Refined "
       "Query:\nWhen all is known, write the answer on a line after Final Answer:\n" +
           words::brief + words::question + words::history + "\n### Next\n"},
      {{"pseudo_document", {"query"}, {"sub_answer"}},
       "Write a short encyclopaedia passage that answers the query, from what you know.\n\n### Query\n{query}\n\n### "
       "Passage\n"},
      {{"forced_answer", {"question", "history"}, {"answer"}},
       "Give the best answer to the question, on a line after Final Answer:\n" + words::brief + words::question +
           words::history + "\n### Answer\n"}};
  return {.name = "auto-rag",
          .prompts = prompt_set({"auto-rag",
                                 {},
                                 {{"search", "Query:", "\n"},
                                  {"answer", "Final Answer:", "\n"},
                                  {"sub_answer", "", ""},
                                  {"history.sub_answer", "Generated Document:", "\n"}},
                                 "Retrieved Document_{rank}: {title}\n{text}\n"},
                                prompts),
          .run = run_auto_rag,
          .defaults = {.rounds = 10, .documents = 2},
          .sampling = {.max_tokens = 200}};
}

// Search-o1 (Li et al. 2025): a reasoning model that may search while it thinks. A separate call (Reason-in-Documents)
// condenses what was found before it enters the reasoning. RAgent, the same paper's plain agent, shows all documents.

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
      path->add(rag::SegmentKind::query, next->action.text, next->action.thought, next->action.source);
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
