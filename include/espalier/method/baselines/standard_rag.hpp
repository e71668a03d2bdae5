#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

/// Baselines of one call, and those that search with the question or its parts and answer from what was found.
namespace espalier::method::baselines::detail {

// Direct answering, also called zero-shot or naive generation: one call that sees only the question.

inline Task<void> run_direct(Path* path, BaselineOptions) { co_await path->ask("answer"); }

inline Baseline direct() {
  const std::string text =
      "Answer the question. Write nothing but the answer.\n" + words::brief + words::question + "\n### Answer\n";
  const Prompts prompts{{{"answer", {"question"}, {"answer"}}, text}};
  return {"direct", prompt_set({"direct", {}, {{"answer", "", ""}}}, prompts), run_direct};
}

// Chain of thought (Wei et al. 2022): one call that thinks before a marker and answers after it.

inline Baseline cot() {
  const std::string text =
      "Think about the question step by step. Then write the answer on a line of its own, after So the answer is:\n" +
      words::brief + words::question + "\n### Thoughts and answer\n";
  return {.name = "cot",
          .prompts = prompt_set({"cot", {}, {{"answer", "So the answer is:", "\n"}}},
                                {{{"answer", {"question"}, {"answer"}}, text}}),
          .run = run_direct,
          .examples = as_sentences};
}

// Standard RAG: one search with the question, then one call that sees what was found.

inline rag::PromptSet standard_rag_prompts() {
  const std::string text = "Answer the question from the documents. Write nothing but the answer.\n" + words::brief +
                           words::documents + words::question + "\n### Answer\n";
  return prompt_set({"standard-rag", {}, {{"answer", "", ""}}, words::document},
                    {{{"answer", {"documents", "question"}, {"answer"}}, text}});
}

inline Task<void> run_standard_rag(Path* path, BaselineOptions) {
  co_await path->search(path->question());
  co_await path->ask("answer", path->showing(path->documents()));
}

inline Baseline standard_rag() { return {"standard-rag", standard_rag_prompts(), run_standard_rag, {.documents = 3}}; }

// Iter-RetGen (Shao et al. 2023): rounds of search and answer. Each query is the question followed by the last round's
// output. Each prompt shows only the newest documents. The last output is the answer.

inline Task<void> run_iter_retgen(Path* path, BaselineOptions options) {
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

inline Baseline iter_retgen() {
  return {"iter-retgen", standard_rag_prompts(), run_iter_retgen, {.rounds = 3, .documents = 3}};
}

// Iterative RAG, the baseline of DecoupleRAG's paper: one call splits the question, each part is searched and
// answered, and one call combines the answers.

inline Task<void> run_iterative(Path* path, BaselineOptions options) {
  const std::optional<rag::Action> parts = co_await path->ask("split");
  if (!parts) co_return;
  std::istringstream lines(rag::normalise(parts->text) == "none" ? path->question() : parts->text);
  std::string query;
  for (std::uint32_t round = 0; round < options.rounds && std::getline(lines, query);) {
    if (query.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++round;
    co_await path->search(query);
    co_await path->ask("part", path->showing(path->documents(), Path::with("query", query)));
  }
  co_await path->ask("combine");
}

inline Baseline iterative() {
  const Prompts prompts{
      {{"split", {"question"}, {"queries"}},
       "Split the question into the simpler questions that must be answered first, one a line, in order. If it is "
       "simple already, write None.\n" +
           words::question + "\n### Simpler questions\n"},
      {{"part", {"documents", "query"}, {"sub_answer"}},
       "Answer the simpler question from the documents, in one sentence.\n" + words::documents +
           "\n### Simpler question\n{query}\n\n### Answer\n"},
      {{"combine", {"question", "history"}, {"answer"}},
       "Answer the question from the answers to its parts.\n" + words::brief + "Put it inside <answer></answer>.\n" +
           words::question + words::history + "\n### Answer\n"}};
  Protocol marks{"iterative",
                 {},
                 {{"queries", "", ""}, {"sub_answer", "", ""}, {"answer", "<answer>", "</answer>"}},
                 words::document,
                 {"queries", "information"}};
  return {"iterative", prompt_set(std::move(marks), prompts), run_iterative, {.rounds = 5, .documents = 3}};
}

}  // namespace espalier::method::baselines::detail
