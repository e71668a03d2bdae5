#pragma once

#include <espalier/backend/detail/lexical/posting_list.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/lexical/index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend::detail {

/// Finds the best passages of a lexical index. The result is exact: skipped passages cannot be among the best
/// (block-max MaxScore, one window of passages at a time). It keeps buffers. Only one thread may use it.
class LexicalSearch {
 public:
  /// Up to k passages that have any of the words, best first, equal scores in corpus order. A word counts as often as
  /// it occurs. A score is the sum of floats in the order of the sorted words, whatever the order of the query.
  const std::vector<Hit>& operator()(const LexicalIndex& index, std::vector<std::string> words, std::size_t k) {
    best_.clear();
    begin(index, words);
    k_ = std::min<std::size_t>(k, index.passages());
    if (k_ == 0 || count_ == 0) return best_;
    try {
      for (std::uint32_t from = 0; from < index.passages();) {
        const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(from + width_, index.passages()));
        search_window(from, to);
        from = next_passage(to, index.passages());
      }
    } catch (...) {  // a damaged file
      scores_.clear();
      throw;
    }
    std::sort_heap(best_.begin(), best_.end());
    return best_;
  }

 private:
  struct Term {
    PostingList list;
    double weight;      // idf of one occurrence in the query
    double times;       // occurrences in the query
    std::size_t block;  // the first that may reach into the window
    double most;        // largest possible value for a passage of the window
    std::size_t at;     // next posting of `scan`
    OpenBlock scan;     // block of the walk through all passages
    OpenBlock probe;    // block for single passages
  };
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr std::uint32_t narrowest = 1 << 12, widest = 1 << 16;

  void begin(const LexicalIndex& index, std::vector<std::string>& words) {
    norms_ = index.norms();
    std::sort(words.begin(), words.end());
    count_ = 0;
    std::uint64_t postings = 0;
    for (auto word = words.begin(); word != words.end();) {
      const auto next = std::upper_bound(word, words.end(), *word);
      if (const PostingList list = index.find(*word); list.size() > 0) {
        if (count_ == terms_.size()) terms_.emplace_back();
        Term& term = terms_[count_++];
        term.list = list;
        term.weight = index.idf(list.size());
        term.times = static_cast<double>(next - word);
        term.block = term.at = 0;
        term.scan.number = term.probe.number = none;
        postings += list.size();
      }
      word = next;
    }
    by_most_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) by_most_[i] = i;
    rest_.resize(count_ + 1);
    // The bound of a sum in doubles, increased by the possible rounding of a sum of floats.
    slack_ = 1 + std::numeric_limits<float>::epsilon() * static_cast<double>(count_ + 2);
    width_ = narrowest;
    while (width_ < widest && postings * width_ < std::uint64_t(2048) * index.passages()) width_ *= 2;
    if (scores_.size() < width_) scores_.resize(width_);
    if (touched_.size() <= width_) touched_.resize(std::size_t(width_) + 1);
  }

  /// The score to reach.
  [[nodiscard]] double bar() const {
    return best_.size() == k_ ? best_.front().score : static_cast<double>(std::numeric_limits<float>::min());
  }
  static float impact(double weight, double times, std::uint32_t count, float norm) {
    const float once = static_cast<float>(weight * Share::of(count, norm));
    return times == 1 ? once : static_cast<float>(once * times);
  }
  /// The score that the term adds to a passage of the window.
  float added(Term& term, std::uint32_t passage) const {
    const std::uint32_t count = count_of(term, passage);
    return count == 0 ? 0 : impact(term.weight, term.times, count, norms_[passage]);
  }

  void search_window(std::uint32_t from, std::uint32_t to) {
    for (std::size_t i = 0; i < count_; ++i) bound(terms_[i], from, to);
    for (std::size_t i = 1; i < count_; ++i)  // they hardly move between windows
      for (std::size_t j = i; j > 0 && terms_[by_most_[j]].most < terms_[by_most_[j - 1]].most; --j)
        std::swap(by_most_[j], by_most_[j - 1]);
    for (std::size_t i = 0; i < count_; ++i) rest_[i + 1] = rest_[i] + terms_[by_most_[i]].most;

    // A passage with only the first `given` terms is not among the best. With an equal score it would come after them.
    std::size_t given = 0;
    if (best_.size() == k_)
      while (given < count_ && rest_[given + 1] * slack_ <= bar()) ++given;
    if (given == count_) return;
    // Looking up one passage in a list costs about as much as walking over a dozen postings.
    std::uint64_t walked = 0;
    for (std::size_t i = given; i < count_; ++i) walked += terms_[by_most_[i]].list.size();
    for (; given > 0 && terms_[by_most_[given - 1]].list.size() < 16 * walked; --given)
      walked += terms_[by_most_[given - 1]].list.size();
    scanned_.assign(by_most_.begin() + static_cast<std::ptrdiff_t>(given), by_most_.end());
    std::sort(scanned_.begin(), scanned_.end());
    std::size_t touched = 0;
    for (std::size_t i : scanned_) touched = scan(terms_[i], from, to, touched);
    const double rest = rest_[given], slack = slack_;
    double needed = bar();
    float* const scores = scores_.data();
    for (const std::uint32_t place : std::span(touched_).first(touched)) {
      const float sum = std::exchange(scores[place], 0.0F);
      if ((sum + rest) * slack < needed) continue;
      complete(from + place, sum, given);
      needed = bar();
    }
  }

  static void bound(Term& term, std::uint32_t from, std::uint32_t to) {
    std::uint32_t share = 0;
    term.block = term.list.block_of(from, term.block);
    const bool passed =
        term.scan.number == term.block && (term.at == term.scan.size || term.scan.passages[term.at] >= to);
    for (std::size_t b = passed ? term.list.blocks() : term.block; b < term.list.blocks(); ++b) {
      share = std::max(share, term.list.share(b));
      if (term.list.last(b) >= to - 1) break;
    }
    term.most = term.weight * (share / Share::whole) * term.times;
  }

  /// Adds the term's scores to the passages of the window, and records those that were 0 before.
  std::size_t scan(Term& term, std::uint32_t from, std::uint32_t to, std::size_t touched) {
    OpenBlock& block = term.scan;
    if (term.block == term.list.blocks()) return touched;
    const double weight = term.weight, times = term.times;
    const float* const norms = norms_.data();
    float* const scores = scores_.data();
    std::uint32_t* const touched_at = touched_.data();
    if (block.number == none || block.number < term.block) open(term, term.block);
    for (;;) {
      const auto passages = std::span(block.passages).first(block.size);
      if (term.at < block.size && passages[term.at] < from)
        term.at = static_cast<std::size_t>(
            std::lower_bound(passages.begin() + std::ptrdiff_t(term.at), passages.end(), from) - passages.begin());
      std::size_t at = term.at;
      for (; at < block.size && passages[at] < to; ++at) {
        const float more = impact(weight, times, block.counts[at], norms[passages[at]]);
        const std::uint32_t place = passages[at] - from;
        const float score = scores[place];
        touched_at[touched] = place;
        touched += static_cast<std::size_t>(score == 0 && more > 0);
        scores[place] = score + more;
      }
      term.at = at;
      if (at < block.size || block.number + 1 == term.list.blocks()) return touched;
      open(term, block.number + 1);
    }
  }
  static void open(Term& term, std::size_t number) {
    term.list.open(number, term.scan);
    term.at = 0;
  }

  /// Adds a passage to the best ones if it belongs there. `sum` is its score from the scanned terms.
  void complete(std::uint32_t passage, float sum, std::size_t given) {
    bool more = false;
    double bound = sum;
    for (std::size_t i = given; i-- > 0;) {
      if ((bound + rest_[i + 1]) * slack_ < bar()) return;
      const float add = added(terms_[by_most_[i]], passage);
      bound += static_cast<double>(add);
      more = more || add > 0;
    }
    if (more) {  // the same sum in the order of the words
      sum = 0;
      for (std::size_t i = 0; i < count_; ++i) sum += added(terms_[i], passage);
    }
    const Hit hit(passage, static_cast<double>(sum));
    if (hit.score < bar()) return;
    if (best_.size() == k_) {
      if (!(hit < best_.front())) return;
      std::pop_heap(best_.begin(), best_.end());
      best_.pop_back();
    }
    best_.push_back(hit);
    std::push_heap(best_.begin(), best_.end());
  }

  /// How often a passage of the window has the term.
  static std::uint32_t count_of(Term& term, std::uint32_t passage) {
    const auto holds = [&](const OpenBlock& block) {
      return block.number != none && block.passages[0] <= passage && passage <= block.passages[block.size - 1];
    };
    if (!holds(term.scan) && !holds(term.probe)) {
      const std::size_t number = term.list.block_of(passage, term.block);
      if (number == term.list.blocks()) return 0;
      if (number != term.probe.number) term.list.open(number, term.probe);
    }
    const OpenBlock& block = holds(term.scan) ? term.scan : term.probe;
    const auto end = block.passages.begin() + static_cast<std::ptrdiff_t>(block.size);
    const auto found = std::lower_bound(block.passages.begin(), end, passage);
    return found != end && *found == passage ? block.counts.begin()[found - block.passages.begin()] : 0;
  }

  /// The next passage from `to` on that may have a term.
  [[nodiscard]] std::uint32_t next_passage(std::uint32_t to, std::uint32_t passages) const {
    std::uint32_t next = passages;
    for (std::size_t i = 0; i < count_; ++i) {
      const Term& term = terms_[i];
      if (term.block == term.list.blocks()) continue;
      if (term.scan.number == none || term.scan.number < term.block) return to;
      if (term.at < term.scan.size) next = std::min(next, std::max(to, term.scan.passages[term.at]));
      else if (term.scan.number + 1 < term.list.blocks()) return to;
    }
    return next;
  }

  std::size_t k_ = 0;
  std::vector<Hit> best_;    // a heap, the worst on top
  std::vector<Term> terms_;  // the first count_, in the order of the words
  std::size_t count_ = 0;
  std::span<const float> norms_;
  double slack_ = 1;
  std::uint32_t width_ = narrowest;   // of a window, in passages
  std::vector<std::size_t> by_most_;  // terms by their largest value, ascending
  std::vector<double> rest_;          // largest sum of the first terms of by_most_
  std::vector<std::size_t> scanned_;
  std::vector<float> scores_;           // of the passages of the window, 0 between windows
  std::vector<std::uint32_t> touched_;  // passages of the window whose score is not 0
};

}  // namespace espalier::backend::detail
