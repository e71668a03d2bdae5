/// BM25 in memory: build time, memory and queries a second, beside a bare loop over the same postings (the lower bound:
/// no analysis, no dictionary, no passages handed out). 100 words a passage, 50,000 words by Zipf's law, 6 words a
/// query, the best 10. Argument: number of passages (default 100,000).
#include <espalier/backend/bm25.hpp>
#include <espalier/core/seed.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace espalier;

constexpr std::uint32_t vocabulary = 50'000, words_a_passage = 100, words_a_query = 6, best = 10;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Resident memory now, in MB.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:" && status >> word) return std::stod(word) / 1024;
  return 0;
}

std::string word(std::uint32_t rank) { return "word" + std::to_string(rank); }

std::vector<Passage> zipf_corpus(std::uint32_t passages) {
  std::vector<double> cumulative(vocabulary);
  double sum = 0;
  for (std::uint32_t i = 0; i < vocabulary; ++i) cumulative[i] = sum += 1.0 / (i + 1);
  Random random{Seed(1)};
  std::vector<Passage> corpus;
  corpus.reserve(passages);
  for (std::uint32_t p = 0; p < passages; ++p) {
    std::string text;
    for (std::uint32_t w = 0; w < words_a_passage; ++w) {
      const auto at = std::lower_bound(cumulative.begin(), cumulative.end(), random.uniform() * sum);
      text += word(static_cast<std::uint32_t>(at - cumulative.begin())) + ' ';
    }
    corpus.emplace_back(std::to_string(p), "", std::move(text));
  }
  return corpus;
}

/// Words from the middle of the vocabulary; the last `common` of them among the 20 most frequent ones.
std::vector<Query> queries_with(std::uint32_t common) {
  Random random{Seed(2)};
  std::vector<Query> queries;
  for (int q = 0; q < 2000; ++q) {
    std::string text;
    for (std::uint32_t w = 0; w < words_a_query; ++w)
      text += word(w < words_a_query - common ? 500 + random.below(20'000) : random.below(20)) + ' ';
    queries.emplace_back(std::move(text), best);
  }
  return queries;
}

/// The best scores of one query by nothing but additions and one walk; returns their sum.
float bare_loop(std::span<const std::span<const backend::Posting>> lists, std::vector<float>& scores) {
  for (const auto& list : lists)
    for (const auto& p : list) scores[p.passage] += p.impact;
  float top[best] = {};  // ascending
  for (const auto& list : lists) {
    for (const auto& p : list) {
      const float score = std::exchange(scores[p.passage], 0.0f);
      if (score <= top[0]) continue;
      std::uint32_t i = 0;
      for (; i + 1 < best && top[i + 1] < score; ++i) top[i] = top[i + 1];
      top[i] = score;
    }
  }
  float sum = 0;
  for (float score : top) sum += score;
  return sum;
}

void compare(const char* name, backend::Bm25& bm25, const std::vector<Query>& queries) {
  std::vector<std::vector<std::span<const backend::Posting>>> lists(queries.size());
  for (std::size_t q = 0; q < queries.size(); ++q)
    for (std::string term : backend::simple_analyzer()(queries[q].text))
      lists[q].push_back(bm25.index().postings(term));
  std::vector<float> scores(bm25.size());
  double ours = 1e9, bare = 1e9, check = 0, expected = 0;
  for (int round = 0; round < 5; ++round) {  // interleaved, the best of each
    auto start = std::chrono::steady_clock::now();
    const auto answers = bm25(queries);
    ours = std::min(ours, seconds_since(start));
    start = std::chrono::steady_clock::now();
    for (const auto& list : lists) check += bare_loop(list, scores);
    bare = std::min(bare, seconds_since(start));
    for (const auto& passages : answers)
      for (const Passage& p : passages) expected += p.score();
  }
  const double n = static_cast<double>(queries.size());
  std::printf("%s: %.0f queries/s, bare loop %.0f queries/s, ratio %.2f%s\n", name, n / ours, n / bare, ours / bare,
              std::abs(check - expected) > 1e-3 * expected ? " (SCORES DIFFER)" : "");
}

}  // namespace

int main(int argc, char** argv) {
  const auto passages = static_cast<std::uint32_t>(argc > 1 ? std::atol(argv[1]) : 100'000);
  auto start = std::chrono::steady_clock::now();
  std::vector<Passage> corpus = zipf_corpus(passages);
  const double text = resident();
  std::printf("%u passages of %u words: %.1f s to generate, %.0f MB\n", passages, words_a_passage, seconds_since(start),
              text);
  for (unsigned threads : {1u, 0u}) {
    start = std::chrono::steady_clock::now();
    backend::Bm25 bm25(corpus, {.threads = threads});
    const double seconds = seconds_since(start);
    std::printf("%s: build %.2f s, %zu terms, %zu postings, %.0f MB of postings, %.0f MB more resident\n",
                threads == 1 ? "one thread" : "all threads", seconds, bm25.index().terms(), bm25.index().postings(),
                static_cast<double>(bm25.index().postings() * sizeof(backend::Posting)) / 1e6, resident() - text);
    if (threads != 1) continue;  // the bare loop has one
    compare("  content words", bm25, queries_with(0));
    compare("  4 content and 2 common words", bm25, queries_with(2));
  }
}
