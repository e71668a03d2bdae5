#include <espalier/backend/dense.hpp>
#include <espalier/core/batch_service.hpp>
#include <espalier/run/build_index.hpp>
#include <espalier/run/detail/retrievers.hpp>
#ifdef ESPALIER_HAS_FAISS
#include <faiss/IndexFlat.h>
#include <faiss/index_io.h>
#endif

#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrievers_test {

using namespace espalier;

namespace {

std::vector<Embedding> lengths(std::span<const EncodeRequest> texts) {
  std::vector<Embedding> embeddings;
  for (const EncodeRequest& text : texts) embeddings.push_back({float(text.text.size()), 1});
  return embeddings;
}

/// The settings of a run over an index with vectors, whose encoder is a function.
run::Settings settings(const test::TemporaryFolder& folder, const std::string& source, std::optional<Hash> encoder) {
  run::Settings s;
  s.retriever.source = source;
  if (source.starts_with("faiss:")) s.retriever.corpus = folder / "corpus.jsonl";
  else s.retriever.index = folder / "index";
  s.encoder = {run::Settings::GivenBackends::source, "lengths"};
  s.given.encoder.emplace();
  s.given.encoder->fingerprint = encoder;
  s.given.encoder->open = [encoder] {
    using Service = BatchService<EncodeRequest, Embedding, decltype(&lengths)>;
    return run::detail::EncoderBackend(std::make_unique<Service>(&lengths), encoder, "lengths", true);
  };
  return s;
}

}  // namespace

TEST_CASE("what is retrieved by vectors has the fingerprint of its encoder in its own, and none without it") {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "corpus.jsonl", R"({"id":"a","contents":"one"})"
                                             "\n"
                                             R"({"id":"b","contents":"three"})"
                                             "\n");
  run::IndexOptions::Encoding encoding{&lengths, "lengths", "none", std::nullopt, backend::Metric::inner_product};
  run::build_index({.corpus = folder / "corpus.jsonl", .out = folder / "index", .lexical = {}, .encoding = encoding});
  std::vector<std::string> sources{"dense", "hybrid"};
#ifdef ESPALIER_HAS_FAISS
  faiss::IndexFlatIP index(2);
  index.add(2, std::vector<float>{3, 1, 5, 1}.data());
  faiss::write_index(&index, (folder / "index.faiss").c_str());
  sources.push_back("faiss:" + (folder / "index.faiss"));
#endif
  for (const std::string& source : sources)
    for (const bool reranked : {false, true}) {
      CAPTURE(source);
      const auto fingerprint = [&](std::optional<Hash> encoder) {
        run::Settings s = settings(folder, source, encoder);
        if (reranked) s.retriever.reranker = "http://127.0.0.1:9/rerank", s.retriever.reranker_name = "m";
        const auto made = run::detail::make_retriever(s, {});
        REQUIRE(made.service);
        return made.fingerprint;
      };
      CHECK_FALSE(fingerprint(std::nullopt));
      CHECK(fingerprint(Hash{1, 2}) == fingerprint(Hash{1, 2}));
      CHECK(fingerprint(Hash{1, 2}) != fingerprint(Hash{1, 3}));
    }
}

}  // namespace retrievers_test
