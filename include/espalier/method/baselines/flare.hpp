#pragma once

#include <espalier/method/baselines/ircot.hpp>

#include <cmath>

/// FLARE (Jiang et al. 2023): writes one sentence ahead; if the model was not sure of it, the sentence is the query and is
/// written again with what was found. Sure is what has a mean token probability, exp(mean log-probability), of at least
/// `threshold`; the published rule looks at each token by itself, which servers report too differently to rely on.
namespace espalier::method::baselines {

inline rag::PromptSet flare_prompts() {
  Protocol protocol{"flare", {}, {}};
  rag::PromptSet::Texts texts;
  add_ircot(protocol, texts);
  return prompt_set(std::move(protocol), std::move(texts));
}

/// exp of the mean log-probability of a draw's tokens. Throws Error if the model gave none.
inline double mean_probability(const Proposal<rag::Action>& drawn) {
  if (std::isnan(drawn.logprob) || drawn.tokens == 0)
    throw Error("flare needs log-probabilities and token counts, which this model does not give; ask a server that does");
  return std::exp(static_cast<double>(drawn.logprob) / drawn.tokens);
}

inline Task<void> run_flare(Path* path, BaselineOptions options) {
  Passages documents;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    std::optional<Proposal<rag::Action>> next = co_await path->draw("sentence", path->showing(documents));
    if (next && mean_probability(*next) < options.threshold) {
      const std::string ahead = first_sentence(next->action.text);
      co_await path->search(ahead);
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

inline Baseline flare() { return {"flare", flare_prompts, run_flare, {.rounds = 8, .documents = 3, .threshold = 0.6}, true}; }

}  // namespace espalier::method::baselines
