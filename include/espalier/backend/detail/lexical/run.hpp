#pragma once

#include <espalier/backend/detail/index/corpus.hpp>
#include <espalier/backend/detail/lexical/posting_codec.hpp>
#include <espalier/backend/detail/lexical/term_hash.hpp>
#include <espalier/backend/lexical/analyzer.hpp>
#include <espalier/core/atomic_file.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/input_file.hpp>
#include <espalier/llm/passage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// An index of some neighbouring passages: their terms in byte order, each with its postings.
struct LexicalRun {
  std::string bytes;                   ///< for each term: length, bytes, number of postings, postings
  std::vector<std::uint32_t> lengths;  ///< number of terms in each passage
  std::uint64_t postings = 0;
  Hash hash;  ///< hash of ids, titles and texts
};

/// Writes runs. Only one thread may use it. A passage is indexed as its title, a line end and its text.
class LexicalRunWriter {
 public:
  template <class = void>
  LexicalRun operator()(const AnyCorpus& corpus, std::size_t begin, std::size_t end, const Analyzer& analyzer) {
    LexicalRun run;
    Hasher hasher;
    for (std::size_t i = begin; i < end; ++i) {
      const Passage passage = corpus[i];
      hasher.add(passage.id()).add(passage.title()).add(passage.text());
      contents_.assign(passage.title()).append("\n").append(passage.text());
      analyzer(contents_, terms_);
      run.lengths.push_back(static_cast<std::uint32_t>(terms_.length()));
      add_passage(static_cast<std::uint32_t>(i));
    }
    run.hash = hasher.finish();
    run.postings = entries_.size();
    write(run.bytes);
    return run;
  }

 private:
  struct Entry {
    std::uint32_t term;
    Posting posting;
  };
  struct Seen {
    std::size_t last = 0;  // entry + 1
    std::uint32_t passages = 0;
  };

  /// Numbers terms in order of appearance.
  std::uint32_t number(std::string_view term) {
    if (const auto known = numbers_.find(term); known != numbers_.end()) return known->second;
    seen_.emplace_back();
    return numbers_.emplace(term, seen_.size() - 1).first->second;
  }

  void add_passage(std::uint32_t passage) {
    const std::size_t first = entries_.size();
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const std::uint32_t term = number(terms_[t]);
      if (Seen& seen = seen_[term]; seen.last > first) {
        ++entries_[seen.last - 1].posting.count;
      } else {
        entries_.push_back({term, {passage, 1}});
        seen.last = entries_.size();
        ++seen.passages;
      }
    }
  }

  /// Sorts the terms, writes each with its postings, and clears the state for the next run.
  template <class = void>
  void write(std::string& out) {
    std::vector<std::pair<std::string_view, std::uint32_t>> order(numbers_.begin(), numbers_.end());
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> ends(order.size());
    std::size_t begin = 0;
    for (const auto& [term, t] : order) begin += seen_[t].passages, ends[t] = begin - seen_[t].passages;
    std::vector<Posting> postings(entries_.size());
    for (const Entry& e : entries_) postings[ends[e.term]++] = e.posting;

    auto next = postings.begin();
    for (const auto& [term, t] : order) {
      put_number(out, term.size());
      out += term;
      put_number(out, seen_[t].passages);
      std::uint32_t before = ~std::uint32_t(0);
      for (const auto end = next + seen_[t].passages; next != end; before = next++->passage)
        put_posting(out, before, *next);
    }
    numbers_.clear();
    seen_.clear();
    entries_.clear();
  }

  std::string contents_;
  Analyzer::Terms terms_;
  std::unordered_map<std::string, std::uint32_t, TermHash, std::equal_to<>> numbers_;
  std::vector<Seen> seen_;      // by term
  std::vector<Entry> entries_;  // in order of passages
};

/// Reads a run, term by term. The bytes must outlive it.
class LexicalRunReader {
 public:
  explicit LexicalRunReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// Reads the next term. False after the last one. All postings of the previous term must have been taken.
  bool next_term() {
    if (rest_.empty()) return false;
    const auto length = static_cast<std::size_t>(take_number(rest_));
    term_ = {reinterpret_cast<const char*>(rest_.data()), length};
    rest_ = rest_.subspan(length);
    left_ = take_number(rest_);
    before_ = ~std::uint32_t(0);
    return true;
  }
  [[nodiscard]] std::string_view term() const { return term_; }
  /// Calls f(posting) for each of the term's postings.
  void take_postings(auto f) {
    for (; left_ > 0; --left_) {
      const Posting p = take_posting(rest_, before_, ~std::uint32_t(0));
      before_ = p.passage;
      f(p);
    }
  }

 private:
  std::span<const std::byte> rest_;
  std::string_view term_;
  std::uint64_t left_ = 0;
  std::uint32_t before_ = 0;
};

/// The runs of an index under construction, in memory or in a file that the store removes.
class RunStore {
 public:
  /// Keeps runs in memory, or beside the index at `path`. Throws InputError that names the file.
  explicit RunStore(const std::optional<std::string>& path) {
    if (path) file_.emplace(*path + ".runs");
  }

  void resize(std::size_t runs) { runs_.resize(runs); }
  /// Stores run i. Only one thread at a time may call it.
  void put(std::size_t i, std::string bytes) {
    runs_[i].size = bytes.size();
    runs_[i].begin = end_;
    end_ += bytes.size();
    if (file_) {
      file_->write(bytes);
    } else {
      bytes.shrink_to_fit();
      runs_[i].bytes = std::move(bytes);
    }
  }
  /// Readers of all runs in order, valid as long as the store. Call put() no more afterwards.
  std::vector<LexicalRunReader> readers() {
    if (file_) mapped_ = espalier::detail::map_file(file_->written());
    std::vector<LexicalRunReader> readers;
    for (const Run& run : runs_)
      readers.emplace_back(file_ ? mapped_.bytes.subspan(run.begin, run.size) : std::as_bytes(std::span(run.bytes)));
    return readers;
  }

 private:
  struct Run {
    std::string bytes;
    std::size_t begin = 0, size = 0;
  };

  std::optional<espalier::detail::AtomicFile> file_;
  espalier::detail::HeldBytes mapped_;
  std::vector<Run> runs_;
  std::size_t end_ = 0;
};

}  // namespace espalier::backend::detail
