#pragma once

#include <espalier/core/error.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/scheduler.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/rag/state.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How well each of several answers agrees with all of them. The best one is their medoid (AirRAG, section 3.3).
namespace espalier::method::detail {

/// The words of a text in its normal form.
inline std::set<std::string> word_set(const std::string& text) {
  const std::string normal = rag::detail::form_or_text(text);
  std::set<std::string> words;
  for (const std::string_view word : rag::detail::split(normal)) words.emplace(word);
  return words;
}

/// The Jaccard index |A n B| / |A u B| of the word sets of two texts. It is 1 if both are empty.
inline double jaccard(const std::string& a, const std::string& b) {
  const std::set<std::string> left = word_set(a), right = word_set(b);
  const auto both = static_cast<std::size_t>(
      std::count_if(left.begin(), left.end(), [&](const std::string& word) { return right.contains(word); }));
  const std::size_t either = left.size() + right.size() - both;
  return either == 0 ? 1 : static_cast<double>(both) / static_cast<double>(either);
}

/// The cosine of two embeddings of equal length, 0 if one is all zeros. Throws Error if the lengths differ.
inline double cosine(const Embedding& a, const Embedding& b) {
  if (a.size() != b.size())
    throw Error("embeddings of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " numbers");
  double product = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    left += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    right += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
}

/// For each i the mean of similar(i, j) over all j, i included (AirRAG, Eq. 2 with jaccard and Eq. 3 with cosine).
template <class Item, class Similar>
std::vector<double> agreement_scores(std::span<const Item> items, Similar similar) {
  std::vector<double> scores(items.size(), 0);
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const Item& other : items) scores[i] += similar(items[i], other) / static_cast<double>(items.size());
  return scores;
}

/// The index of the highest score, the first one if scores differ by at most 1e-12. `scores` must not be empty.
inline std::size_t first_best(std::span<const double> scores) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i)
    if (scores[i] > scores[best] + 1e-12) best = i;
  return best;
}

/// Annotates each complete chain's end with "embedding": its answer's mean cosine with all answers (AirRAG, Eq. 3).
template <class = void>
Task<void> annotate_agreement(EncoderPort encoder, rag::Tree* tree) {
  const std::vector<NodeId> ends = output::complete_chains(*tree);
  std::vector<Task<Embedding>> asked;
  for (const NodeId end : ends)
    asked.push_back(encoder.ask(EncodeRequest(*tree->state(end).answer(), EncodeRequest::Role::passage)));
  const std::vector<Embedding> embeddings = co_await gather(std::move(asked));
  const auto scores = agreement_scores<Embedding>(embeddings, cosine);
  tree->annotations.erase("embedding");
  for (std::size_t i = 0; i < ends.size(); ++i) tree->annotate("embedding", ends[i], scores[i]);
}

}  // namespace espalier::method::detail
