#pragma once

#include <espalier/method/baselines/baseline.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Baselines of one call, of searches by the question or its parts, and of a first reply from memory.
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
    const auto output = co_await path->ask("answer", path->showing(path->documents()), rag::SegmentKind::sub_answer);
    if (!output) co_return;
    query = path->question() + " " + output->text;
  }
  co_await path->search(query);
  co_await path->ask("answer", path->showing(path->documents()));
}

inline Baseline iter_retgen() {
  return {"iter-retgen", standard_rag_prompts(), run_iter_retgen, {.rounds = 3, .documents = 3}};
}

// Iterative RAG of DecoupleRAG's paper: the question is split, each part searched and answered, the answers combined.

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

// Judge-then-retrieve: one call says whether documents are needed, and the answer is given with or without them.

/// Asks whether something must be looked up, and for an answer without and with documents.
inline Prompts judge_asks() {
  return {{{"judge", {"question"}, {"verdict"}},
           "Must something be looked up to answer this question, or do you know it for certain? Write yes if it must "
           "be looked up, else no.\n" +
               words::question + "\n### yes or no\n"},
          {{"direct", {"question"}, {"answer"}},
           "Answer the question, on a line after Answer:\n" + words::brief + words::question + "\n### Answer\n"},
          {{"answer", {"documents", "question"}, {"answer"}},
           "Answer the question from the documents, on a line after Answer:\n" + words::brief + words::documents +
               words::question + "\n### Answer\n"}};
}

inline Task<void> run_judge_then_retrieve(Path* path, BaselineOptions) {
  const std::optional<rag::Action> verdict = co_await path->ask("judge", Path::Slots(), rag::SegmentKind::thought);
  if (!verdict) co_return;
  if (!*rag::detail::read_verdict(verdict->text)) {
    co_await path->ask("direct");
    co_return;
  }
  co_await path->search(path->question());
  co_await path->ask("answer", path->showing(path->documents()));
}

inline Baseline judge_then_retrieve() {
  return {.name = "judge-then-retrieve",
          .prompts = prompt_set(
              {"judge-then-retrieve", {}, {{"verdict", "", ""}, {"answer", "Answer:", "\n"}}, words::document},
              judge_asks()),
          .run = run_judge_then_retrieve,
          .defaults = {.documents = 3}};
}

// Generate-then-retrieve: a first answer from memory becomes part of the query. The second answer sees what was found.

inline Task<void> run_generate_then_retrieve(Path* path, BaselineOptions) {
  const std::optional<rag::Action> first = co_await path->ask("direct", Path::Slots(), rag::SegmentKind::sub_answer);
  if (!first) co_return;
  co_await path->search(path->question() + " " + first->text);
  co_await path->ask("answer", path->showing(path->documents()));
}

inline Baseline generate_then_retrieve() {
  Prompts prompts = judge_asks();
  prompts.erase(prompts.begin());
  return {
      .name = "generate-then-retrieve",
      .prompts = prompt_set({"generate-then-retrieve", {}, {{"answer", "Answer:", "\n"}}, words::document}, prompts),
      .run = run_generate_then_retrieve,
      .defaults = {.documents = 3}};
}

// Self-RAG (Asai et al. 2024) by prompts. It decides whether to retrieve, answers once from each passage, criticises
// each answer, and keeps the best by exp(mean log-probability) + relevance + support + utility / 2. The published
// reflection tokens are trained. Here calls replace them. Without log-probabilities that term is 0 for all answers,
// and the decision has the probability 0 or 1.

/// The score of an answer: the published sum with the weights 1, 1 and 0.5, and utility mapped from [0, 1] to [-1, 1].
inline double self_rag_score(double mean_logprob, double relevance, double support, double utility) {
  return (std::isnan(mean_logprob) ? 0 : std::exp(mean_logprob)) + relevance + support + 0.5 * (2 * utility - 1);
}

inline Task<void> run_self_rag(Path* path, BaselineOptions options) {
  const auto verdict = co_await path->draw("judge", Path::Slots(), rag::SegmentKind::thought);
  if (!verdict) co_return;
  co_await path->take(verdict->action);
  const bool yes = *rag::detail::read_verdict(verdict->action.text);
  const double sure = std::isnan(verdict->action.logprob) ? 1 : std::exp(double(verdict->action.logprob));
  const double chance = yes ? sure : 1 - sure;  // of "yes"
  if (!(chance > options.threshold)) {
    co_await path->ask("direct");
    co_return;
  }
  co_await path->search(path->question());
  std::optional<std::string> best;
  double highest = 0;
  for (const Passage& passage : path->documents()) {
    const Passages one(1, passage);
    const std::optional<rag::Sampler::Sample> answer = co_await path->sample("answer", path->showing(one));
    if (!answer || !answer->reply) continue;
    Path::Slots slots = path->showing(one, Path::with("step", answer->reply->content));
    const std::optional<rag::Reply> critique = co_await path->consult("critique", std::move(slots));
    if (!critique) continue;
    const std::vector<double>& s = critique->scores;
    const double logprob = answer->logprob && answer->tokens > 0 ? *answer->logprob / answer->tokens : std::nan("");
    const double score = self_rag_score(logprob, s[0], s[1], s[2]);
    if (best && score <= highest) continue;
    best = answer->reply->content;
    highest = score;
  }
  if (best) path->add(rag::SegmentKind::answer, *best);
  else co_await path->ask("answer", path->showing(path->documents()));
}

inline Baseline self_rag() {
  Prompts prompts = judge_asks();
  prompts.insert(
      prompts.begin() + 1,
      {{"critique", {"documents", "question", "step"}, {"score"}, {0, 1, 3}},
       "Criticise an answer to a question that was given from a passage. Write three numbers from 0 to 1: how relevant "
       "the passage is to the question, how far the passage supports the answer, and how useful the answer is. Write "
       "them in this order, separated by commas, on a line after Scores:\n" +
           words::documents + words::question + "\n### Answer\n{step}\n\n### Scores\n"});
  return {.name = "self-rag",
          .prompts = prompt_set({"self-rag",
                                 {},
                                 {{"verdict", "", ""}, {"answer", "Answer:", "\n"}, {"score", "Scores:", "\n"}},
                                 words::document},
                                prompts),
          .run = run_self_rag,
          .defaults = {.documents = 3, .threshold = 0.2},
          .sampling = {.max_tokens = 100, .logprobs = true},
          .threshold = "probability of a needed search above which it searches"};
}

}  // namespace espalier::method::baselines::detail
