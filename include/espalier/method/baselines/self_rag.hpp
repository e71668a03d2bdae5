#pragma once

#include <espalier/method/baselines/judge_then_retrieve.hpp>

#include <cmath>

/// Self-RAG (Asai et al. 2024) by prompts. It decides whether to retrieve, answers once from each passage, criticises
/// each answer, and keeps the best by exp(mean log-probability) + relevance + support + utility / 2. The published
/// reflection tokens are trained. Here calls replace them. Without log-probabilities that term is 0 for all answers,
/// and the decision has the probability 0 or 1.
namespace espalier::method::baselines::detail {

inline rag::PromptSet self_rag_prompts() {
  Protocol protocol{
      "self-rag",
      {{"judge", {"question"}, {"verdict"}}, {"critique", {"documents", "question", "step"}, {"score"}, {0, 1, 3}}},
      {{"verdict", "", ""}, {"answer", "Answer:", "\n"}, {"score", "Scores:", "\n"}},
      words::document};
  rag::PromptSet::Texts texts = judge_then_retrieve_prompts().texts();
  add_two_answers(protocol, texts);
  texts["critique"] =
      "Criticise an answer to a question that was given from a passage. Write three numbers from 0 to 1: how relevant "
      "the passage is to the "
      "question, how far the passage supports the answer, and how useful the answer is. Write them in this "
      "order, separated by commas, on a line after Scores:\n" +
      words::documents + words::question + "\n### Answer\n{step}\n\n### Scores\n";
  return prompt_set(std::move(protocol), std::move(texts));
}

/// The score of an answer: the published sum with the weights 1, 1 and 0.5, and utility mapped from [0, 1] to [-1, 1].
inline double self_rag_score(double mean_logprob, double relevance, double support, double utility) {
  return (std::isnan(mean_logprob) ? 0 : std::exp(mean_logprob)) + relevance + support + 0.5 * (2 * utility - 1);
}
/// The probability of "yes", from a verdict and its log-probability (NaN = not known).
inline double probability_of_yes(bool yes, double logprob) {
  const double p = std::isnan(logprob) ? 1 : std::exp(logprob);
  return yes ? p : 1 - p;
}

template <class = void>
Task<void> run_self_rag(Path* path, BaselineOptions options) {
  const std::optional<Proposal<rag::Action>> verdict =
      co_await path->draw("judge", Path::Slots(), rag::SegmentKind::thought);
  if (!verdict) co_return;
  co_await path->take(verdict->action);
  const bool yes = *rag::detail::read_verdict(verdict->action.text);
  if (!(probability_of_yes(yes, static_cast<double>(verdict->logprob)) > options.threshold)) {
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
    const std::vector<double> s = *rag::detail::read_scores(critique->content, {0, 1, 3});
    const double logprob = answer->logprob && answer->tokens > 0 ? *answer->logprob / answer->tokens : std::nan("");
    const double score = self_rag_score(logprob, s[0], s[1], s[2]);
    if (best && score <= highest) continue;
    best = answer->reply->content;
    highest = score;
  }
  if (best) path->add(rag::SegmentKind::answer, *best);
  else co_await path->ask("answer", path->showing(path->documents()));
}

template <class = void>
Baseline self_rag() {
  return {.name = "self-rag",
          .prompts = self_rag_prompts,
          .run = run_self_rag,
          .defaults = {.documents = 3, .threshold = 0.2},
          .logprobs = true,
          .sampling = {.max_tokens = 100},
          .threshold = "probability of a needed search above which it searches"};
}

}  // namespace espalier::method::baselines::detail
