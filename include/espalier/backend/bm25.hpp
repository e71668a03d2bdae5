#pragma once

#include <espalier/backend/detail/index/corpus.hpp>
#include <espalier/backend/detail/index/parallel.hpp>
#include <espalier/backend/detail/lexical/search.hpp>
#include <espalier/backend/lexical/builder.hpp>
#include <espalier/backend/lexical/index.hpp>
#include <espalier/core/error.hpp>
#include <espalier/llm/passage.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

/// A retriever: BM25 with Lucene's formula but exact passage lengths, ln(1 + (N - n + 1/2) / (n + 1/2)) * f /
/// (f + k1 * (1 - b + b * length / mean length)). A query word counts as often as it occurs. Passages without any query
/// word are not returned. Equal scores are in corpus order. Copies share one index. One thread at a time may call one.
class Bm25 {
 public:
  /// Builds an index in memory. Throws std::invalid_argument for a bad option, InputError for a repeated passage id.
  template <class = void>
  explicit Bm25(std::vector<Passage> corpus, const Bm25Options& options = {})
      : Bm25(detail::AnyCorpus(distinct(std::move(corpus))), options) {}
  /// The same for a corpus in any form: it has size(), and passages by number.
  template <class = void>
  explicit Bm25(const detail::AnyCorpus& corpus, const Bm25Options& options = {})
      : Bm25(corpus, LexicalIndex(detail::LexicalBuilder(options)(corpus)), options.analyzer, options.threads) {}
  /// Searches an existing index of the corpus. Throws Error if it has another number of passages or another analyzer.
  Bm25(detail::AnyCorpus corpus, LexicalIndex index, Analyzer analyzer, unsigned threads = 0)
      : state_(std::make_shared<State>(State{std::move(corpus), std::move(index), std::move(analyzer), threads})) {
    if (size() != state_->index.passages())
      throw Error("the BM25 index was built of " + std::to_string(state_->index.passages()) +
                  " passages, the corpus has " + std::to_string(size()));
    if (state_->analyzer.name() != state_->index.analyzer())
      throw Error("the BM25 index was built with the analyzer '" + state_->index.analyzer() + "', not '" +
                  state_->analyzer.name() + "'");
  }

  /// Writes an index to a file, for LexicalIndex::open(). Memory holds its dictionary and 8 bytes per passage.
  template <class = void>
  static void write_index(const detail::AnyCorpus& corpus, const Bm25Options& options, const std::string& path) {
    detail::LexicalBuilder(options, path)(corpus);
  }

  /// Up to k passages for every query, best first.
  template <class = void>
  [[nodiscard]] std::vector<Passages> operator()(std::span<const Query> queries) {
    constexpr std::size_t queries_worth_a_thread = 8;
    const std::size_t workers = detail::worker_count(state_->threads, queries.size() / queries_worth_a_thread);
    if (searches_.size() < workers) searches_.resize(workers);
    std::vector<Passages> answers(queries.size());
    detail::parallel_for(queries.size(), workers, [&](std::size_t i, std::size_t worker) {
      for (const Hit& hit : searches_[worker](state_->index, state_->analyzer(queries[i].text), queries[i].k))
        answers[i].push_back(state_->corpus[hit.row].scored(hit.score));
    });
    return answers;
  }

  [[nodiscard]] std::size_t size() const { return state_->corpus.size(); }
  [[nodiscard]] const LexicalIndex& index() const { return state_->index; }
  /// Identity of corpus, analyzer, k1 and b: equal ones give equal answers. A corpus with bigrams has one of its own.
  [[nodiscard]] Hash fingerprint() const {
    const LexicalIndex::Facts& f = index().facts();
    const char* const name = f.bigrams > 0 ? "bm25 of bigrams" : "bm25";
    return Hasher().add(name).add(f.corpus).add(index().analyzer()).add(f.k1).add(f.b).finish();
  }

 private:
  struct State {
    detail::AnyCorpus corpus;
    LexicalIndex index;
    Analyzer analyzer;
    unsigned threads;
  };

  template <class = void>
  static std::vector<Passage> distinct(std::vector<Passage> corpus) {
    std::unordered_map<std::string_view, std::size_t> lines;
    lines.reserve(corpus.size());
    for (std::size_t i = 0; i < corpus.size(); ++i)
      if (const auto [at, added] = lines.try_emplace(corpus[i].id(), i + 1); !added)
        throw InputError("corpus", i + 1, "id",
                         "'" + corpus[i].id() + "' is the id of passage " + std::to_string(at->second) + " too");
    return corpus;
  }

  std::shared_ptr<const State> state_;
  std::vector<detail::LexicalSearch> searches_;  // one per worker
};

}  // namespace espalier::backend
