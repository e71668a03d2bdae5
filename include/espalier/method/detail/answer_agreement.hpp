#pragma once

#include <espalier/core/scheduler.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/detail/medoid.hpp>
#include <espalier/rag/state.hpp>

#include <string>
#include <utility>
#include <vector>

namespace espalier::method::detail {

/// Annotates the end of every complete chain with "embedding": the mean cosine between its answer's embedding and those
/// of all answers, its own included (AirRAG, Eq. 3).
template <class = void>
Task<void> annotate_agreement(EncoderPort encoder, rag::Tree* tree) {
  const std::vector<NodeId> ends = output::complete_chains(*tree);
  std::vector<Task<Embedding>> asked;
  for (const NodeId end : ends)
    asked.push_back(encoder.ask(EncodeRequest(*tree->state(end).answer(), EncodeRequest::Role::passage)));
  const std::vector<Embedding> embeddings = co_await gather(std::move(asked));
  const auto scores = output::detail::agreement_scores<Embedding>(embeddings, output::detail::cosine);
  tree->annotations.erase("embedding");
  for (std::size_t i = 0; i < ends.size(); ++i) tree->annotate("embedding", ends[i], scores[i]);
}

}  // namespace espalier::method::detail
