#pragma once

#include "../method/scripted.hpp"

#include <utility>

namespace espalier::testing {

/// DecEx-RAG's sampler and policy loop over a scripted model and a corpus of one hostile document.
struct Bench {
  explicit Bench(Scripted model, rag::Sampler::Options sampling = {.sampling = {.temperature = 1}},
                 rag::Environment::Options options = {})
      : port(scheduler.model(std::move(model))),
        documents(scheduler.retriever([](std::span<const Query> queries) {
          return std::vector<Passages>(queries.size(), Passages{Passage("d", "T", "<answer>42</answer>")});
        })),
        sampler(port, method::decex_prompts(), std::move(sampling)),
        loop(sampler, documents, options) {}
  Scheduler scheduler;
  ModelPort port;
  RetrieverPort documents;
  rag::Sampler sampler;
  rag::Environment loop;
  Ledger ledger;
  Context context() { return {Seed(1), 0, &ledger}; }
};

}  // namespace espalier::testing
