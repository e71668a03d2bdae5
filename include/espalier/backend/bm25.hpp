#pragma once

#include <espalier/backend/inverted_index.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

struct Bm25Options {
  double k1 = 1.2;                        ///< saturation of repeated terms, >= 0
  double b = 0.75;                        ///< weight of the passage's length, [0, 1]
  Analyzer analyzer = simple_analyzer();
  unsigned threads = 0;                   ///< 0 = as many as the hardware runs at once; never changes a result
};

/// A retriever over an index in memory: BM25 as Lucene scores it. A query word counts as often as it occurs; passages
/// without any query word are not returned; equal scores stand in corpus order. Copies share one index; one thread at a
/// time calls a copy.
class Bm25 {
 public:
  /// Throws std::invalid_argument for an option out of range, InputError for a passage id that occurs twice.
  explicit Bm25(std::vector<Passage> corpus, Bm25Options options = {})
      : state_(std::make_shared<const State>(std::move(corpus), checked(std::move(options)))) {}

  /// Up to k passages for every query, best first.
  [[nodiscard]] std::vector<Passages> operator()(std::span<const Query> queries) {
    constexpr std::size_t queries_worth_a_thread = 8;
    const std::size_t workers = worker_count(state_->options.threads, queries.size() / queries_worth_a_thread);
    if (scores_.size() < workers) scores_.resize(workers);
    std::vector<Passages> answers(queries.size());
    parallel_for(queries.size(), workers,
                 [&](std::size_t i, std::size_t worker) { answers[i] = search(queries[i], scores_[worker]); });
    return answers;
  }

  [[nodiscard]] std::size_t size() const { return state_->corpus.size(); }
  [[nodiscard]] const InvertedIndex& index() const { return state_->index; }
  /// Identifies corpus, analyzer, k1 and b: equal fingerprints give equal answers.
  [[nodiscard]] Hash fingerprint() const {
    const Bm25Options& o = state_->options;
    return Hasher().add("bm25").add(index().corpus_hash()).add(o.analyzer.name()).add(o.k1).add(o.b).finish();
  }

 private:
  struct State {
    State(std::vector<Passage> passages, Bm25Options given)
        : options(std::move(given)), corpus(distinct(std::move(passages))),
          index(corpus, options.analyzer, options.k1, options.b, options.threads) {}
    Bm25Options options;
    std::vector<Passage> corpus;
    InvertedIndex index;
  };
  struct Hit {
    float score;
    std::uint32_t passage;
    friend bool operator<(const Hit& a, const Hit& b) {  // ranks before
      return a.score != b.score ? a.score > b.score : a.passage < b.passage;
    }
  };
  using Scores = std::vector<float>;  // of every passage; all 0 between searches

  static Bm25Options checked(Bm25Options options) {
    if (!(options.k1 >= 0 && std::isfinite(options.k1))) bad_option("k1", options.k1, "0 or more");
    if (!(options.b >= 0 && options.b <= 1)) bad_option("b", options.b, "0 to 1");
    return options;
  }
  static std::vector<Passage> distinct(std::vector<Passage> corpus) {
    std::unordered_map<std::string_view, std::size_t> lines;
    lines.reserve(corpus.size());
    for (std::size_t i = 0; i < corpus.size(); ++i)
      if (const auto [at, added] = lines.try_emplace(corpus[i].id(), i + 1); !added)
        throw InputError("corpus", i + 1, "id",
                         "'" + corpus[i].id() + "' is the id of passage " + std::to_string(at->second) + " too");
    return corpus;
  }

  [[nodiscard]] Passages search(const Query& query, Scores& scores) const {
    scores.resize(size());
    // In the order of the words, so that a score does not depend on how the query arranges them.
    std::vector<std::string> words = state_->options.analyzer(query.text);
    std::sort(words.begin(), words.end());
    std::vector<std::span<const Posting>> lists;
    std::size_t postings = 0;
    for (auto word = words.begin(); word != words.end();) {
      const auto next = std::upper_bound(word, words.end(), *word);
      lists.push_back(index().postings(*word));
      postings += lists.back().size();
      if (const auto times = next - word; times == 1) {
        for (const Posting& p : lists.back()) scores[p.passage] += p.impact;
      } else {
        for (const Posting& p : lists.back())
          scores[p.passage] += static_cast<float>(p.impact * static_cast<double>(times));
      }
      word = next;
    }

    std::vector<Hit> best;  // a heap, the worst on top
    const std::size_t k = std::min<std::size_t>(query.k, size());
    float bar = std::numeric_limits<float>::min();  // what a score must reach
    const auto offer = [&](std::uint32_t passage, float score) {
      const Hit hit{score, passage};
      if (best.size() == k) {
        if (k == 0 || !(hit < best.front())) return;
        std::pop_heap(best.begin(), best.end());
        best.pop_back();
      }
      best.push_back(hit);
      std::push_heap(best.begin(), best.end());
      if (best.size() == k) bar = best.front().score;
    };
    if (postings < size() / 2) {  // walk over what matched, or over all
      for (const auto& list : lists)
        for (const Posting& p : list)
          if (const float score = std::exchange(scores[p.passage], 0.0f); score >= bar) offer(p.passage, score);
    } else {
      for (std::uint32_t p = 0; p < scores.size(); ++p)
        if (scores[p] >= bar) offer(p, scores[p]);
      std::fill(scores.begin(), scores.end(), 0.0f);
    }
    std::sort_heap(best.begin(), best.end());
    Passages found;
    found.reserve(best.size());
    for (const Hit& hit : best) found.push_back(state_->corpus[hit.passage].scored(hit.score));
    return found;
  }

  std::shared_ptr<const State> state_;
  std::vector<Scores> scores_;  // a worker each
};

}  // namespace espalier::backend
