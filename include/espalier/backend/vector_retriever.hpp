#pragma once

#include <espalier/backend/index/vectors.hpp>
#include <espalier/core/batch_service.hpp>
#include <espalier/core/error.hpp>
#include <espalier/llm/passage.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// Any batch function from texts to embeddings, behind one type.
class AnyEncoder {
 public:
  template <class F>
    requires espalier::detail::BatchFunction<F, EncodeRequest, Embedding> &&
             (!std::same_as<std::remove_cvref_t<F>, AnyEncoder>)
  AnyEncoder(F f)  // NOLINT: a batch function is an encoder
      : encode_([f = std::move(f)](std::span<const EncodeRequest> texts) mutable {
          auto answers = f(texts);
          std::vector<Outcome<Embedding>> embeddings;
          for (auto& answer : answers) embeddings.emplace_back(std::move(answer));
          return embeddings;
        }) {}

  /// One outcome per text. Throws BackendError if the number differs.
  std::vector<Outcome<Embedding>> operator()(std::span<const EncodeRequest> texts) {
    auto embeddings = encode_(texts);
    if (embeddings.size() != texts.size())
      throw BackendError("an encoder returned " + std::to_string(embeddings.size()) + " embeddings for " +
                             std::to_string(texts.size()) + " texts",
                         BackendError::Kind::permanent);
    return embeddings;
  }

 private:
  std::function<std::vector<Outcome<Embedding>>(std::span<const EncodeRequest>)> encode_;
};

/// The text of a passage for encoding: its title, if it has one, and its text, each on its own line.
inline std::string encoded_text(const Passage& passage) {
  return passage.title().empty() ? passage.text() : passage.title() + "\n" + passage.text();
}

}  // namespace detail

/// A retriever of passages by their vectors. It encodes the queries of a batch in one call and searches an index whose
/// row i is passage i. A query whose embedding failed gets its own error. Passages: anything with size() and [].
template <VectorIndex Index, class Corpus = std::vector<Passage>>
class VectorRetriever {
 public:
  /// Throws std::invalid_argument if the numbers of vectors and passages differ.
  VectorRetriever(Corpus passages, Index index, detail::AnyEncoder encoder)
      : passages_(std::move(passages)), index_(std::move(index)), encoder_(std::move(encoder)) {
    if (index_.rows() != passages_.size())
      throw std::invalid_argument("the index holds " + std::to_string(index_.rows()) + " vectors for " +
                                  std::to_string(passages_.size()) + " passages");
  }
  /// Encodes the passages and builds the index from them.
  template <class I = Index>
  VectorRetriever(Corpus passages, detail::AnyEncoder encoder, const typename I::Options& options = {})
      : passages_(std::move(passages)), index_(I::encoded(passages_, encoder, options)), encoder_(std::move(encoder)) {}

  std::vector<Outcome<Passages>> operator()(std::span<const Query> queries) {
    std::vector<EncodeRequest> texts;
    for (const Query& query : queries) texts.emplace_back(query.text, EncodeRequest::Role::query);
    std::vector<Outcome<Embedding>> embeddings = encoder_(texts);
    std::vector<VectorQuery> searches;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (!embeddings[i].ok()) continue;
      const std::string fault = detail::vector_fault(embeddings[i].value(), index_.dimension());
      if (fault.empty()) searches.emplace_back(embeddings[i].value(), queries[i].k);
      else embeddings[i] = std::make_exception_ptr(BackendError(fault, BackendError::Kind::permanent));
    }
    const auto found = index_.search(searches);
    std::vector<Outcome<Passages>> results;
    std::size_t next = 0;
    for (const auto& embedding : embeddings) {
      Passages hits;
      if (embedding.ok())
        for (const Hit& hit : found[next++]) hits.push_back(passages_[hit.row].scored(hit.score));
      results.push_back(embedding.ok() ? Outcome<Passages>(std::move(hits)) : embedding.error());
    }
    return results;
  }

  [[nodiscard]] std::size_t size() const { return passages_.size(); }
  /// Identity of passages and index. For vectors from another source, a journal adds the encoder's fingerprint.
  [[nodiscard]] Hash fingerprint() const {
    Hasher hasher;
    hasher.add("vector retriever").add(index_.fingerprint()).add(std::uint64_t(passages_.size()));
    if constexpr (requires { passages_.hash(); }) hasher.add(passages_.hash());
    else
      for (const Passage& p : passages_) hasher.add(p.id()).add(p.title()).add(p.text());
    return hasher.finish();
  }

 private:
  Corpus passages_;
  Index index_;
  detail::AnyEncoder encoder_;
};

}  // namespace espalier::backend
