#pragma once

#include <espalier/backend/bm25.hpp>
#include <espalier/backend/hybrid.hpp>
#include <espalier/core/batch_service.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/run/backends.hpp>
#include <espalier/run/index_folder.hpp>
#ifdef ESPALIER_HAS_CURL
#include <espalier/backend/http_reranker.hpp>
#include <espalier/backend/http_retriever.hpp>
#include <espalier/backend/vector_retriever.hpp>
#endif
#ifdef ESPALIER_HAS_EIGEN
#include <espalier/backend/dense.hpp>
#endif
#ifdef ESPALIER_HAS_FAISS
#include <espalier/backend/faiss.hpp>
#endif

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// The faiss index in the settings, "" = none.
inline std::string faiss_file(const Settings& settings) {
  constexpr std::string_view kind = "faiss:";
  return settings.retriever.source.starts_with(kind) ? settings.retriever.source.substr(kind.size()) : "";
}

#ifdef ESPALIER_HAS_CURL

/// Passages by their vectors. The encoder encodes the queries. If it has no fingerprint, the retriever has none.
template <class Index, class Corpus>
RetrieverBackend by_vectors(Corpus passages, Index index, EncoderBackend encoder, const std::string& label) {
  using Retriever = backend::VectorRetriever<Index, Corpus>;
  std::optional<Hash> fingerprint = encoder.fingerprint;
  Retriever retriever(std::move(passages), std::move(index), waiting(std::move(encoder)));
  if (fingerprint) fingerprint = Hasher().add(retriever.fingerprint()).add(*fingerprint).finish();
  return {std::make_unique<BatchService<Query, Passages, Retriever>>(std::move(retriever)), fingerprint, label, true};
}

#endif

inline std::vector<Passage> read_corpus(const Settings& settings) {
  return settings.retriever.corpus.empty() ? std::vector<Passage>() : output::read_passages(settings.retriever.corpus);
}

/// A faiss index over the corpus, with the settings' encoder.
inline RetrieverBackend make_faiss([[maybe_unused]] const Settings& settings) {
#if defined(ESPALIER_HAS_CURL) && defined(ESPALIER_HAS_FAISS)
  return by_vectors(read_corpus(settings), backend::FaissIndex::load(faiss_file(settings)), make_encoder(settings),
                    "faiss");
#else
  throw MissingPart("faiss retrieval", "libfaiss-dev, libopenblas-dev and libcurl4-openssl-dev");
#endif
}

inline RetrieverBackend make_bm25(const Settings& settings, const Lexical& lexical) {
  backend::Bm25 index =
      settings.retriever.index.empty()
          ? backend::Bm25(read_corpus(settings), {lexical.k1, lexical.b, backend::Analyzer::named(lexical.analyzer)})
          : IndexFolder(settings.retriever.index).bm25();
  const Hash fingerprint = index.fingerprint();
  return {std::make_unique<BatchService<Query, Passages, backend::Bm25>>(std::move(index)), fingerprint, "bm25", false};
}

/// Exact search over the vectors of the index folder, with the settings' encoder.
inline RetrieverBackend make_dense([[maybe_unused]] const Settings& settings) {
#if defined(ESPALIER_HAS_CURL) && defined(ESPALIER_HAS_EIGEN)
  EncoderBackend encoder = make_encoder(settings);
  const IndexFolder folder(settings.retriever.index);
  backend::DenseIndex vectors(folder.dense());
  folder.check_encoder(settings.encoder.name, encoder.fingerprint);
  return by_vectors(folder.corpus(), std::move(vectors), std::move(encoder), "dense");
#else
  throw MissingPart("exact dense search", "libeigen3-dev, libcurl4-openssl-dev and libsimdjson-dev");
#endif
}

/// The client of the settings' retrieval server.
inline RetrieverBackend make_remote([[maybe_unused]] const Settings& settings) {
#ifdef ESPALIER_HAS_CURL
  auto service = std::make_unique<backend::HttpRetriever>(
      backend::HttpRetrieverOptions{.url = settings.retriever.source,
                                    .name = settings.retriever.name,
                                    .api = backend::detail::retrieval_api(settings.retriever.api),
                                    .http = http_options(settings)});
  const Hash fingerprint = service->fingerprint();
  return {std::move(service), fingerprint, "remote", true};
#else
  throw MissingPart("the client for retrieval servers", "libcurl4-openssl-dev and libsimdjson-dev");
#endif
}

/// A retriever whose best passages the settings' reranker orders again.
inline RetrieverBackend reranked([[maybe_unused]] RetrieverBackend retriever,
                                 [[maybe_unused]] const Settings& settings) {
#ifdef ESPALIER_HAS_CURL
  auto service = std::make_unique<backend::HttpReranker>(
      backend::HttpRerankerOptions{.url = settings.retriever.reranker,
                                   .model = settings.retriever.reranker_name,
                                   .api_key_file = settings.servers.api_key_file,
                                   .http = http_options(settings)});
  std::optional<Hash> fingerprint = retriever.fingerprint;
  const std::uint32_t depth = settings.retriever.rerank_depth;
  if (fingerprint) {
    Hasher hasher;
    hasher.add(std::string_view("reranked")).add(*fingerprint).add(service->fingerprint());
    fingerprint = hasher.add(std::uint64_t(depth)).finish();
  }
  return {std::make_unique<backend::Reranked>(std::move(retriever.service), std::move(service), depth), fingerprint,
          fmt::format("{}, reranked", retriever.label), true};
#else
  throw MissingPart("the client for rerankers", "libcurl4-openssl-dev and libsimdjson-dev");
#endif
}

/// The settings' retriever without a reranker. A local one searches the index folder or the corpus.
inline RetrieverBackend make_first_retriever(const Settings& settings, const Lexical& lexical) {
  if (settings.given.retriever)
    return open_given(*settings.given.retriever, settings.retriever.name, settings.journal.replay);
  const std::string& kind = settings.retriever.source;
  const bool vectors = !settings.retriever.index.empty();
  if (kind == "bm25") return make_bm25(settings, lexical);
  if (!faiss_file(settings).empty()) return make_faiss(settings);
  if (kind == "dense" && vectors) return make_dense(settings);
  if (kind == "hybrid" && vectors) {
    RetrieverBackend lexically = make_bm25(settings, lexical), densely = make_dense(settings);
    std::optional<Hash> fingerprint = densely.fingerprint;
    if (fingerprint)
      fingerprint = Hasher().add(std::string_view("hybrid")).add(*lexically.fingerprint).add(*fingerprint).finish();
    std::vector<backend::Hybrid::Part> parts;
    parts.push_back(std::move(lexically.service));
    parts.push_back(std::move(densely.service));
    return {std::make_unique<backend::Hybrid>(std::move(parts)), fingerprint, "hybrid", true};
  }
  if (!is_url(kind))
    bad_option(
        "retriever", kind,
        "'bm25', with an index 'dense' or 'hybrid', 'faiss:INDEX' or a URL that starts with http:// or https://");
  return make_remote(settings);
}

inline RetrieverBackend make_retriever(const Settings& settings, const Lexical& lexical) {
  RetrieverBackend first = make_first_retriever(settings, lexical);
  return settings.retriever.reranker.empty() ? std::move(first) : reranked(std::move(first), settings);
}

}  // namespace espalier::run::detail
