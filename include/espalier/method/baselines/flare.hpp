#pragma once

#include <espalier/method/baselines/ircot.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

/// FLARE (Jiang et al. 2023) writes one sentence ahead. If the model is not sure of it, the sentence becomes a query
/// without the tokens it is least sure of, and is written again with what was found. It looks 64 tokens ahead. The
/// model is sure if each token of the sentence has at least the probability `threshold`. Where a server gives only the
/// sum of the log-probabilities, exp(mean log-probability) is compared, and the query is the whole sentence.
namespace espalier::method::baselines::detail {

inline rag::PromptSet flare_prompts() {
  Protocol protocol{"flare", {}, {}};
  rag::PromptSet::Texts texts;
  add_ircot(protocol, texts);
  return prompt_set(std::move(protocol), std::move(texts));
}

/// The tokens of a reply that belong to a sentence. Empty if they are not given or do not spell it.
inline std::vector<Completion::TokenLogprob> tokens_of(const std::string& sentence,
                                                       const std::vector<Completion::TokenLogprob>& reply) {
  std::string text;
  for (const Completion::TokenLogprob& token : reply) text += token.text;
  const std::size_t begin = text.find(sentence);
  std::vector<Completion::TokenLogprob> own;
  std::size_t at = 0;
  for (const Completion::TokenLogprob& token : reply) {
    if (begin != text.npos && at + token.text.size() > begin && at < begin + sentence.size()) own.push_back(token);
    at += token.text.size();
  }
  return own;
}

/// A look-ahead sentence: how sure the model is of it, and the query that it makes.
struct LookAhead {
  double probability;  ///< of its least probable token, or of the mean one
  std::string query;   ///< its tokens above `mask`, the whole sentence if none is
};
/// Throws Error if the model gave no log-probabilities.
inline LookAhead look_ahead(const std::string& sentence, const Proposal<rag::Action>& drawn, double mask) {
  if (std::isnan(drawn.logprob) || drawn.tokens == 0)
    throw Error(
        "flare needs log-probabilities and token counts, which this model does not give; ask a server that does");
  const std::vector<Completion::TokenLogprob> tokens = tokens_of(sentence, drawn.token_logprobs);
  if (tokens.empty()) return {std::exp(static_cast<double>(drawn.logprob) / drawn.tokens), sentence};
  double least = 1;
  std::string kept;
  for (const Completion::TokenLogprob& token : tokens) {
    const double p = std::exp(token.logprob);
    least = std::min(least, p);
    kept += p > mask ? token.text : " ";
  }
  kept = rag::detail::join_blanks(kept);
  return {least, kept.empty() ? sentence : kept};
}

template <class = void>
Task<void> run_flare(Path* path, BaselineOptions options) {
  Passages documents;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    std::optional<Proposal<rag::Action>> next = co_await path->draw("sentence", path->showing(documents));
    LookAhead ahead{1, ""};
    if (next) ahead = look_ahead(first_sentence(next->action.text), *next, options.mask);
    if (ahead.probability < options.threshold) {
      co_await path->search(ahead.query);
      documents = path->documents();
      next = co_await path->draw("sentence", path->showing(documents));
    }
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) {
      co_await path->take(next->action);
      co_return;
    }
    path->add(rag::SegmentKind::thought, first_sentence(next->action.text));
  }
  co_await path->ask("forced_answer", path->showing(documents));
}

template <class = void>
Baseline flare() {
  const BaselineOptions options{.rounds = 8, .documents = 3, .threshold = 0.8, .mask = 0.4};
  return {.name = "flare",
          .prompts = flare_prompts,
          .run = run_flare,
          .defaults = options,
          .logprobs = true,
          .sampling = {.max_tokens = 64},
          .examples = as_sentences,
          .threshold = "a sentence with a token of less probability is searched for and written again"};
}

}  // namespace espalier::method::baselines::detail
