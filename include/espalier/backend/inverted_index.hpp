#pragma once

#include <espalier/backend/analyzer.hpp>
#include <espalier/backend/parallel.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/passage.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend {

/// One passage that has a term.
struct Posting {
  std::uint32_t passage;  ///< position in the corpus
  float impact;           ///< what one occurrence of the term in a query adds to the passage's score, > 0
};

/// Which passages have which term, with BM25 impacts as Lucene computes them (but exact passage lengths):
/// ln(1 + (N - n + 1/2) / (n + 1/2)) * f / (f + k1 * (1 - b + b * length / mean length)).
/// A passage is indexed as its title, a line end and its text. The same for any number of threads.
class InvertedIndex {
 public:
  InvertedIndex(std::span<const Passage> corpus, const Analyzer& analyzer, double k1, double b, unsigned threads) {
    if (corpus.size() >= ~std::uint32_t(0)) throw Error("an index holds at most 2^32 - 2 passages");
    std::vector<Block> blocks((corpus.size() + block_size - 1) / block_size);
    parallel_for(blocks.size(), worker_count(threads, blocks.size()), [&](std::size_t i, std::size_t) {
      blocks[i] = read(corpus.subspan(i * block_size, std::min(block_size, corpus.size() - i * block_size)), analyzer);
    });
    number_terms(blocks);
    fill(blocks, corpus.size(), k1, b);
  }

  /// Passages in corpus order; none for a word that is in no passage.
  [[nodiscard]] std::span<const Posting> postings(std::string_view term) const {
    const auto found = terms_.find(term);
    if (found == terms_.end()) return {};
    return {postings_.data() + begins_[found->second], postings_.data() + begins_[found->second + 1]};
  }
  [[nodiscard]] std::size_t terms() const { return terms_.size(); }
  [[nodiscard]] std::size_t postings() const { return postings_.size(); }
  /// Identifies the passages: ids, titles and texts in their order.
  [[nodiscard]] Hash corpus_hash() const { return corpus_hash_; }

 private:
  struct TermHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view term) const noexcept {
      return static_cast<std::size_t>(Hasher().add(term).finish().low);
    }
  };
  using Terms = std::unordered_map<std::string, std::uint32_t, TermHash, std::equal_to<>>;
  /// Passages read by one thread. Terms are numbered within the block, in order of appearance.
  struct Block {
    std::vector<std::string> terms;
    std::vector<std::uint32_t> numbers;   // of the terms in the index, once that is known
    std::vector<std::uint32_t> passages;  // with each term
    std::vector<std::uint8_t> counts;     // passage after passage: terms, length; of each term its number and how often
    std::size_t length = 0;               // of all its passages
    Hash hash;
  };
  static constexpr std::size_t block_size = 8192;

  // Seven bits a byte, the eighth says that more follow: postings under construction take 3 bytes instead of 8.
  static void put(std::vector<std::uint8_t>& bytes, std::size_t n) {
    for (; n >= 128; n >>= 7) bytes.push_back(static_cast<std::uint8_t>(n | 128));
    bytes.push_back(static_cast<std::uint8_t>(n));
  }
  static std::size_t take(const std::uint8_t*& at) {
    std::size_t n = *at & 127;
    for (unsigned shift = 7; *at++ & 128; shift += 7) n |= std::size_t(*at & 127) << shift;
    return n;
  }

  static Block read(std::span<const Passage> passages, const Analyzer& analyzer) {
    Block block;
    Terms numbers;
    Hasher hasher;
    std::string contents;
    std::vector<std::uint32_t> present, occurrences;  // terms of one passage; of every term in it
    for (const Passage& passage : passages) {
      hasher.add(passage.id()).add(passage.title()).add(passage.text());
      contents.assign(passage.title()).append("\n").append(passage.text());
      const std::vector<std::string> words = analyzer(contents);
      for (const std::string& word : words) {
        const auto [at, added] = numbers.try_emplace(word, static_cast<std::uint32_t>(block.terms.size()));
        if (added) {
          block.terms.push_back(word);
          block.passages.push_back(0);
          occurrences.push_back(0);
        }
        if (occurrences[at->second]++ == 0) present.push_back(at->second);
      }
      put(block.counts, present.size());
      put(block.counts, words.size());
      block.length += words.size();
      for (std::uint32_t term : present) {
        put(block.counts, term);
        put(block.counts, std::exchange(occurrences[term], 0));
        ++block.passages[term];
      }
      present.clear();
    }
    block.counts.shrink_to_fit();
    block.hash = hasher.finish();
    return block;
  }

  void number_terms(std::vector<Block>& blocks) {
    Hasher hasher;
    std::vector<std::size_t> sizes;  // passages with each term
    for (Block& block : blocks) {
      hasher.add(block.hash);
      for (std::size_t i = 0; i < block.terms.size(); ++i) {
        const auto [at, added] =
            terms_.try_emplace(std::move(block.terms[i]), static_cast<std::uint32_t>(sizes.size()));
        if (added) sizes.push_back(0);
        sizes[at->second] += block.passages[i];
        block.numbers.push_back(at->second);
      }
      block.terms = {};
    }
    corpus_hash_ = hasher.finish();
    begins_.assign(1, 0);
    for (std::size_t size : sizes) begins_.push_back(begins_.back() + size);
  }

  void fill(std::vector<Block>& blocks, std::size_t passages, double k1, double b) {
    std::size_t length = 0;
    for (const Block& block : blocks) length += block.length;
    const double n = static_cast<double>(passages), mean = static_cast<double>(length) / n;
    std::vector<double> idf(terms_.size());
    for (std::size_t t = 0; t < idf.size(); ++t) {
      const double with = static_cast<double>(begins_[t + 1] - begins_[t]);
      idf[t] = std::log(1 + (n - with + 0.5) / (with + 0.5));
    }
    postings_.resize(begins_.back());
    std::vector<std::size_t> ends(begins_.begin(), begins_.end() - 1);
    std::uint32_t passage = 0;
    for (Block& block : blocks) {
      const std::uint8_t* at = block.counts.data();
      for (const std::uint8_t* const end = at + block.counts.size(); at != end; ++passage) {
        std::size_t left = take(at);
        const double words = static_cast<double>(take(at));
        // A float on purpose: the rounding keeps compilers from fusing this product with the sum below.
        const float norm = static_cast<float>(k1 * (1 - b + b * words / mean));
        for (; left > 0; --left) {
          const std::uint32_t term = block.numbers[take(at)];
          const double f = static_cast<double>(take(at));
          postings_[ends[term]++] = {passage, static_cast<float>(idf[term] * (f / (f + norm)))};
        }
      }
      block = {};
    }
  }

  Terms terms_;
  std::vector<std::size_t> begins_;  // of each term's postings; one more at the end
  std::vector<Posting> postings_;
  Hash corpus_hash_;
};

}  // namespace espalier::backend
