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
    std::size_t operator()(std::string_view term) const noexcept { return static_cast<std::size_t>(Hasher().add(term).finish().low); }
  };
  using Terms = std::unordered_map<std::string, std::uint32_t, TermHash, std::equal_to<>>;
  struct Count {
    std::uint32_t term, occurrences;
  };
  /// Passages read by one thread; terms are numbered within the block, later within the index.
  struct Block {
    std::vector<std::string> terms;
    std::vector<Count> counts;  // passage after passage
    struct Size {
      std::uint32_t terms, length;
    };
    std::vector<Size> sizes;  // of the passages
    Hash hash;
  };
  static constexpr std::size_t block_size = 8192;

  static Block read(std::span<const Passage> passages, const Analyzer& analyzer) {
    Block block;
    Terms numbers;
    std::vector<std::uint32_t> slots;  // of each term: where its count stands, if not before this passage's
    Hasher hasher;
    std::string contents;
    for (const Passage& passage : passages) {
      hasher.add(passage.id()).add(passage.title()).add(passage.text());
      contents.assign(passage.title()).append("\n").append(passage.text());
      const std::size_t first = block.counts.size();
      const std::vector<std::string> words = analyzer(contents);
      for (const std::string& word : words) {
        const auto [at, added] = numbers.try_emplace(word, static_cast<std::uint32_t>(block.terms.size()));
        if (added) {
          block.terms.push_back(word);
          slots.push_back(0);
        }
        std::uint32_t& slot = slots[at->second];
        if (slot >= first && slot < block.counts.size() && block.counts[slot].term == at->second) {
          ++block.counts[slot].occurrences;
        } else {
          slot = static_cast<std::uint32_t>(block.counts.size());
          block.counts.push_back({at->second, 1});
        }
      }
      block.sizes.push_back({static_cast<std::uint32_t>(block.counts.size() - first), static_cast<std::uint32_t>(words.size())});
    }
    block.counts.shrink_to_fit();
    block.hash = hasher.finish();
    return block;
  }

  void number_terms(std::vector<Block>& blocks) {
    Hasher hasher;
    std::vector<std::size_t> sizes;  // passages of each term
    for (Block& block : blocks) {
      hasher.add(block.hash);
      std::vector<std::uint32_t> numbers(block.terms.size());
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = terms_.try_emplace(std::move(block.terms[i]), static_cast<std::uint32_t>(terms_.size())).first->second;
      block.terms = {};
      sizes.resize(terms_.size());
      for (Count& count : block.counts) ++sizes[count.term = numbers[count.term]];
    }
    corpus_hash_ = hasher.finish();
    begins_.assign(1, 0);
    for (std::size_t size : sizes) begins_.push_back(begins_.back() + size);
  }

  void fill(std::vector<Block>& blocks, std::size_t passages, double k1, double b) {
    double total = 0;
    for (const Block& block : blocks)
      for (const auto& size : block.sizes) total += size.length;
    const double n = static_cast<double>(passages), mean = total / n;
    std::vector<double> idf(terms_.size());
    for (std::size_t t = 0; t < idf.size(); ++t) {
      const double with = static_cast<double>(begins_[t + 1] - begins_[t]);
      idf[t] = std::log(1 + (n - with + 0.5) / (with + 0.5));
    }
    postings_.resize(begins_.back());
    std::vector<std::size_t> ends(begins_.begin(), begins_.end() - 1);
    std::uint32_t passage = 0;
    for (Block& block : blocks) {
      const Count* count = block.counts.data();
      for (const auto& size : block.sizes) {
        // A float on purpose: the rounding keeps compilers from fusing this product with the sum below.
        const float norm = static_cast<float>(k1 * (1 - b + b * size.length / mean));
        for (const Count* end = count + size.terms; count != end; ++count) {
          const double f = count->occurrences;
          postings_[ends[count->term]++] = {passage, static_cast<float>(idf[count->term] * (f / (f + norm)))};
        }
        ++passage;
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
