#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <sstream>

/// Iterative RAG, the baseline of DecoupleRAG's paper: one call splits the question, each part is searched and
/// answered, and one call combines the answers.
namespace espalier::method::baselines::detail {

inline rag::PromptSet iterative_prompts() {
  rag::PromptSet::Texts texts;
  texts["split"] =
      "Split the question into the simpler questions that must be answered first, one a line, in order. If it is "
      "simple already, write None.\n" +
      words::question + "\n### Simpler questions\n";
  texts["part"] = "Answer the simpler question from the documents, in one sentence.\n" + words::documents +
                  "\n### Simpler question\n{query}\n\n### Answer\n";
  texts["combine"] = "Answer the question from the answers to its parts.\n" + words::brief +
                     "Put it inside <answer></answer>.\n" + words::question + words::history + "\n### Answer\n";
  return prompt_set({"iterative",
                     {{"split", {"question"}, {"queries"}},
                      {"part", {"documents", "query"}, {"sub_answer"}},
                      {"combine", {"question", "history"}, {"answer"}}},
                     {{"queries", "", ""}, {"sub_answer", "", ""}, {"answer", "<answer>", "</answer>"}},
                     words::document,
                     {"queries", "information"}},
                    std::move(texts));
}

template <class = void>
Task<void> run_iterative(Path* path, BaselineOptions options) {
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

template <class = void>
Baseline iterative() {
  return {.name = "iterative",
          .prompts = iterative_prompts,
          .run = run_iterative,
          .defaults = {.rounds = 5, .documents = 3}};
}

}  // namespace espalier::method::baselines::detail
