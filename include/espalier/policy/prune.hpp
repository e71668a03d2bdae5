#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// Pruning policies. Each looks at the children of one node that are not pruned, and is a pure function. Equal values
/// are ordered by prior, then by creation. Ahead of values, or with `sees_all`, it is shown children without a value.
/// They count as 0 where values are ranked.
namespace espalier {

namespace detail {

/// True if `a` ranks before `b`: by higher value, then higher prior, then age.
bool better(const auto& tree, NodeId a, NodeId b) {
  const double va = utility(tree[a].mean()), vb = utility(tree[b].mean());
  if (va != vb) return va > vb;
  if (tree[a].prior != tree[b].prior) return tree[a].prior > tree[b].prior;
  return a < b;
}

/// Keeps the best of each group of equal siblings.
Verdict best_of_equals(const auto& tree, std::span<const NodeId> siblings, auto equal) {
  Verdict verdict;
  for (const NodeId a : siblings)
    if (std::ranges::any_of(siblings, [&](NodeId b) { return a != b && equal(a, b) && better(tree, b, a); }))
      verdict.cut.emplace_back(a, Reason::not_best);
  return verdict;
}

}  // namespace detail

/// Keeps the k best by value.
class TopK {
 public:
  explicit TopK(std::size_t k) : k_(k) {
    if (const auto n = static_cast<std::int64_t>(k); n < 1) bad_option("top_k", n, "1 or more");
  }
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    std::vector<NodeId> order(siblings.begin(), siblings.end());
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return detail::better(tree, a, b); });
    Verdict verdict;
    for (std::size_t i = k_; i < order.size(); ++i) verdict.cut.emplace_back(order[i], Reason::not_best);
    return verdict;
  }

 private:
  std::size_t k_;
};

/// Keeps fewer as calls are spent: the k best of a search that has made none, and one once all `calls` are spent. In
/// between it keeps k times the share that is left, rounded up. Asks what the tree's ledger holds when it is asked.
class Budgeted {
 public:
  Budgeted(std::uint64_t calls, std::size_t k) : calls_(calls), k_(k) {
    if (const auto n = static_cast<std::int64_t>(calls); n < 1) bad_option("calls", n, "1 or more");
    if (const auto n = static_cast<std::int64_t>(k); n < 1) bad_option("k", n, "1 or more");
  }
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    const std::uint64_t left = calls_ - std::min(calls_, tree.ledger.total().completions);
    const double kept = std::ceil(double(k_) * double(left) / double(calls_));
    return TopK(std::max<std::size_t>(1, std::size_t(kept)))(tree, siblings);
  }

 private:
  std::uint64_t calls_;
  std::size_t k_;
};

/// Keeps one child of each kind and key: the best by value, then prior, then age. `key(action)` is compared by ==.
template <class Key = std::identity>
class Dedup {
 public:
  explicit Dedup(Key key = Key()) : key_(std::move(key)) {}
  template <class Tree>
    requires requires(const Key& key, const Tree& tree) { key(tree.action(0)) == key(tree.action(0)); }
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    const auto equal = [&](NodeId a, NodeId b) {
      return tree[a].kind == tree[b].kind && key_(tree.action(a)) == key_(tree.action(b));
    };
    return detail::best_of_equals(tree, siblings, equal);
  }

 private:
  Key key_;
};

/// Cuts the children whose value is below a number. With Of::best the number is how far a child may be below the best
/// of its siblings, with Of::parent below its parent's mean. A value up to 1e-6 below it equals it. A child without a
/// value stays, and so do all below a parent without one.
class Threshold {
 public:
  enum class Of : std::uint8_t { number, best, parent };
  explicit Threshold(double threshold, Of of = Of::number) : threshold_(threshold), of_(of) {
    if (!std::isfinite(threshold)) bad_option("threshold", threshold, "a finite number");
  }
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    Verdict verdict;
    double least = threshold_;
    if (of_ == Of::parent) {
      const auto& parent = tree[tree[siblings.front()].parent];
      if (parent.visits == 0) return verdict;
      least = utility(parent.mean()) - threshold_;
    }
    if (of_ == Of::best) {
      least = -std::numeric_limits<double>::infinity();
      for (const NodeId id : siblings)
        if (tree[id].visits > 0) least = std::max(least, utility(tree[id].mean()) - threshold_);
    }
    for (const NodeId id : siblings)
      if (tree[id].visits > 0 && utility(tree[id].mean()) < least - 1e-6)
        verdict.cut.emplace_back(id, Reason::below_threshold);
    return verdict;
  }

 private:
  double threshold_;
  Of of_;
};

/// Keeps the best execution of each decision, that is, of each kind (DecEx-RAG's No-Pruning search).
struct BestOfEachKind {
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    return detail::best_of_equals(tree, siblings, [&](NodeId a, NodeId b) { return tree[a].kind == tree[b].kind; });
  }
};

/// Majority vote between one kind and all others, weighted by the priors (shares of the samples). If `kind` has
/// strictly more than the others together, they are cut and enough is known. Otherwise `kind` is cut. Samples that
/// could not be read have no vote, or with `of_all` one for the others.
class Vote {
 public:
  explicit Vote(Kind kind, bool of_all = false) : kind_(kind), of_all_(of_all) {}
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    double votes = 0, others = 0;
    bool candidates = false;
    for (NodeId id : siblings) {
      const bool mine = tree[id].kind == kind_;
      candidates |= mine;
      (mine ? votes : others) += static_cast<double>(tree[id].prior);
    }
    Verdict verdict;
    if (!candidates) return verdict;
    verdict.enough = votes - (of_all_ ? 1 - votes : others) > 1e-6;  // priors are float shares of the samples
    for (NodeId id : siblings)
      if ((tree[id].kind == kind_) != verdict.enough) verdict.cut.emplace_back(id, Reason::outvoted);
    return verdict;
  }

 private:
  Kind kind_;
  bool of_all_;
};

/// Compares the values of one kind with a threshold: the best one, or their mean over the samples, in which a child
/// counts by its prior. If that is strictly above it, the other kinds are cut or skipped, else that kind is cut. Does
/// nothing while no child of the kind has a value. Up to 1e-6 above the threshold equals it, as shares are rounded.
class ThresholdSkip {
 public:
  static constexpr bool sees_all = true;
  enum class Of : std::uint8_t { best, mean };
  ThresholdSkip(Kind kind, double threshold, Of of) : kind_(kind), threshold_(threshold), of_(of) {
    if (!std::isfinite(threshold)) bad_option("threshold", threshold, "a finite number");
  }
  Verdict operator()(const auto& tree, std::span<const NodeId> siblings) const {
    double sum = 0, shares = 0, best = -std::numeric_limits<double>::infinity();
    for (NodeId id : siblings) {
      if (tree[id].kind != kind_ || !tree[id].visits) continue;
      const double value = utility(tree[id].mean());
      const auto share = static_cast<double>(tree[id].prior);
      best = std::max(best, value);
      sum += share * value;
      shares += share;
    }
    Verdict verdict;
    if (!(shares > 0)) return verdict;
    verdict.enough = (of_ == Of::best ? best : sum / shares) > threshold_ + 1e-6;
    for (NodeId id : siblings)
      if ((tree[id].kind == kind_) != verdict.enough)
        verdict.cut.emplace_back(id, verdict.enough ? Reason::skipped : Reason::below_threshold);
    return verdict;
  }

 private:
  Kind kind_;
  double threshold_;
  Of of_;
};

}  // namespace espalier
