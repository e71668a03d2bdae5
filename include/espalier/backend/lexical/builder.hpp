#pragma once

#include <espalier/backend/detail/index/checked_writer.hpp>
#include <espalier/backend/detail/index/corpus.hpp>
#include <espalier/backend/detail/index/parallel.hpp>
#include <espalier/backend/detail/lexical/bigrams.hpp>
#include <espalier/backend/detail/lexical/run.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/backend/lexical/analyzer.hpp>
#include <espalier/backend/lexical/index.hpp>
#include <espalier/core/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::backend {

/// How an index is built and how it scores.
struct Bm25Options {
  double k1 = 1.2;  ///< saturation of repeated terms, >= 0
  double b = 0.75;  ///< weight of the passage length, [0, 1]
  Analyzer analyzer = Analyzer::simple();
  unsigned threads = 0;  ///< 0 = the number of hardware threads. Never changes a result
  /// progress("read", passages done, all), then ("merge", postings done, all), one call at a time. It may throw.
  std::function<void(std::string_view, std::uint64_t, std::uint64_t)> progress = {};
};

namespace detail {

/// Builds a lexical index: threads read the corpus in parts, whose runs are then merged. Threads change no byte.
class LexicalBuilder {
 public:
  /// Builds in memory, or a file for LexicalIndex::open(). Then runs are stored in another file until the build is
  /// done. So memory holds only the dictionary, eight bytes per passage, and the threads' working data. Throws
  /// std::invalid_argument for an option out of range.
  explicit LexicalBuilder(const Bm25Options& options, const std::optional<std::string>& path = std::nullopt)
      : options_(options), file_(path, LexicalIndex::kind, LexicalIndex::version), runs_(path) {
    if (!(options.k1 >= 0 && std::isfinite(options.k1))) bad_option("k1", options.k1, "0 or more");
    if (!(options.b >= 0 && options.b <= 1)) bad_option("b", options.b, "0 to 1");
  }

  template <class = void>
  CheckedFile operator()(const AnyCorpus& corpus) {
    if (corpus.size() >= ~std::uint32_t(0)) throw Error("an index holds at most 2^32 - 2 passages");
    read(corpus);
    weigh_lengths();
    merge();
    write_rest();
    return file_.commit();
  }

 private:
  template <class = void>
  void read(const AnyCorpus& corpus) {
    constexpr std::size_t part = passages_hashed_together;
    const std::size_t parts = (corpus.size() + part - 1) / part, workers = worker_count(options_.threads, parts);
    std::vector<LexicalRunWriter> writers(workers);
    std::vector<Hash> hashes(parts);
    lengths_.resize(corpus.size());
    runs_.resize(parts);
    std::mutex mutex;
    std::uint64_t done = 0;
    parallel_for(parts, workers, [&](std::size_t i, std::size_t worker) {
      const std::size_t begin = i * part, end = std::min(begin + part, corpus.size());
      LexicalRun run = writers[worker](corpus, begin, end, options_.analyzer);
      std::copy(run.lengths.begin(), run.lengths.end(), lengths_.begin() + static_cast<std::ptrdiff_t>(begin));
      hashes[i] = run.hash;
      const std::scoped_lock lock(mutex);
      facts_.postings += run.postings;
      runs_.put(i, std::move(run.bytes));
      tell("read", done += end - begin, corpus.size());
    });
    Hasher hasher;
    for (Hash hash : hashes) hasher.add(hash);
    facts_.corpus = hasher.finish();
    facts_.passages = corpus.size();
    facts_.k1 = options_.k1;
    facts_.b = options_.b;
  }

  void weigh_lengths() {
    for (std::uint32_t length : lengths_) facts_.words += length;
    const double mean = facts_.words == 0 ? 1 : double(facts_.words) / double(lengths_.size());
    norms_.reserve(lengths_.size());
    // Floats on purpose: the rounding prevents compilers from fusing this product with the sum in the score.
    for (std::uint32_t length : lengths_)
      norms_.push_back(static_cast<float>(options_.k1 * (1 - options_.b + options_.b * length / mean)));
    lengths_ = {};
  }

  template <class = void>
  void merge() {
    std::vector<LexicalRunReader> readers = runs_.readers();
    // A heap of the runs by their next term. For the same term, earlier passages come first.
    const auto behind = [&](std::size_t a, std::size_t b) {
      const int order = readers[a].term().compare(readers[b].term());
      return order != 0 ? order > 0 : a > b;
    };
    std::vector<std::size_t> heap;
    for (std::size_t i = 0; i < readers.size(); ++i)
      if (readers[i].next_term()) heap.push_back(i);
    std::make_heap(heap.begin(), heap.end(), behind);

    file_.begin("postings");
    PostingListWriter list;
    std::string bytes;
    std::uint64_t done = 0, told = 0;
    const bool simple = options_.analyzer.name() == "simple";
    while (!heap.empty()) {
      const std::string_view term = readers[heap.front()].term();  // its bytes stay where they are
      do {
        std::pop_heap(heap.begin(), heap.end(), behind);
        LexicalRunReader& reader = readers[heap.back()];
        reader.take_postings([&](Posting p) { list.add(p, norms_[p.passage]); });
        if (reader.next_term()) std::push_heap(heap.begin(), heap.end(), behind);
        else heap.pop_back();
      } while (!heap.empty() && readers[heap.front()].term() == term);
      done += list.size();
      LexicalTerm record{text_.size(), file_.position() + bytes.size(), list.size(), 0};
      record.share = list.finish(bytes);
      terms_.push_back(record);
      text_ += term;
      std::size_t behind_first = 0;
      if (simple && is_unspaced(espalier::detail::decode_utf8(term, behind_first))) facts_.bigrams += record.passages;
      if (bytes.size() >= std::size_t(1) << 20) {
        file_.write(std::string_view(bytes));
        bytes.clear();
      }
      if (done - told >= std::uint64_t(1) << 22 || heap.empty()) tell("merge", told = done, facts_.postings);
    }
    file_.write(std::string_view(bytes));
    terms_.push_back({text_.size(), file_.position(), 0, 0});
    facts_.terms = terms_.size() - 1;
    if (facts_.terms >= ~std::uint32_t(0)) throw Error("an index holds at most 2^32 - 2 terms");
  }

  template <class = void>
  void write_rest() {
    std::vector<std::uint32_t> slots(std::bit_ceil(terms_.size() + terms_.size() / 4 + 1));  // number + 1, 0 = free
    for (std::uint32_t t = 0; t < facts_.terms; ++t) {
      const auto begin = static_cast<std::size_t>(terms_[t].text), end = static_cast<std::size_t>(terms_[t + 1].text);
      std::uint64_t i = term_hash(std::string_view(text_).substr(begin, end - begin));
      while (slots[i & (slots.size() - 1)] != 0) ++i;
      slots[i & (slots.size() - 1)] = t + 1;
    }
    file_.write("facts", std::span(&facts_, 1));
    file_.write("analyzer", options_.analyzer.name());
    file_.write("norms", std::span(norms_));
    file_.write("terms", std::span(terms_));
    file_.write("text", text_);
    file_.write("slots", std::span(slots));
  }

  void tell(std::string_view step, std::uint64_t done, std::uint64_t all) const {
    if (options_.progress) options_.progress(step, done, all);
  }

  const Bm25Options& options_;
  CheckedWriter file_;
  RunStore runs_;
  LexicalIndex::Facts facts_{};
  std::vector<std::uint32_t> lengths_;
  std::vector<float> norms_;
  std::vector<LexicalTerm> terms_;
  std::string text_;
};

}  // namespace detail

}  // namespace espalier::backend
