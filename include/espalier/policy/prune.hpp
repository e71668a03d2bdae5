#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

/// Pruning policies. Each looks at the living children of one node; all are pure and free of ties by time: equal values
/// are ordered by prior, then by creation.
namespace espalier {

/// Keeps everything.
struct KeepAll {
  template <class Tree>
  Verdict operator()(const Tree&, std::span<const NodeId>) const {
    return {};
  }
};

/// True if `a` goes before `b`: higher value, then higher prior, then older.
template <class Tree>
bool better(const Tree& tree, NodeId a, NodeId b) {
  const double va = utility(tree[a].mean()), vb = utility(tree[b].mean());
  if (va != vb) return va > vb;
  if (tree[a].prior != tree[b].prior) return tree[a].prior > tree[b].prior;
  return a < b;
}

/// Keeps the k best by value.
class TopK {
 public:
  explicit TopK(std::size_t k) : k_(k) {
    if (k == 0) bad_option("top_k", k, "1 or more");
  }
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    std::vector<NodeId> order(siblings.begin(), siblings.end());
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return better(tree, a, b); });
    Verdict verdict;
    for (std::size_t i = k_; i < order.size(); ++i) verdict.cut.emplace_back(order[i], Reason::not_best);
    return verdict;
  }

 private:
  std::size_t k_;
};

/// Keeps the best execution of each decision, that is of each kind (DecEx-RAG's No-Pruning search).
struct BestOfEachKind {
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    Verdict verdict;
    for (NodeId a : siblings)
      for (NodeId b : siblings)
        if (tree[a].kind == tree[b].kind && a != b && better(tree, b, a)) {
          verdict.cut.emplace_back(a, Reason::not_best);
          break;
        }
    return verdict;
  }
};

/// Majority vote between one kind and the rest, each child weighing its prior (its share of the samples). Strictly more
/// than half for `kind`: the rest is cut and enough is known. Otherwise `kind` is cut.
class Vote {
 public:
  explicit Vote(Kind kind) : kind_(kind) {}
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    double share = 0;
    bool candidates = false;
    for (NodeId id : siblings)
      if (tree[id].kind == kind_) {
        share += static_cast<double>(tree[id].prior);
        candidates = true;
      }
    Verdict verdict;
    if (!candidates) return verdict;
    verdict.enough = share > 0.5 + 1e-6;  // priors are float shares of the samples
    for (NodeId id : siblings)
      if ((tree[id].kind == kind_) != verdict.enough) verdict.cut.emplace_back(id, Reason::outvoted);
    return verdict;
  }

 private:
  Kind kind_;
};

/// Compares one kind's values with a threshold: strictly above it, enough is known and other kinds are cut or skipped;
/// otherwise that kind is cut. Does nothing where no child of the kind has a value.
class ThresholdSkip {
 public:
  enum class Of : std::uint8_t { best, mean };
  ThresholdSkip(Kind kind, double threshold, Of of) : kind_(kind), threshold_(threshold), of_(of) {
    if (!std::isfinite(threshold)) bad_option("threshold", threshold, "a finite number");
  }
  template <class Tree>
  Verdict operator()(const Tree& tree, std::span<const NodeId> siblings) const {
    double sum = 0, best = 0;
    std::size_t n = 0;
    for (NodeId id : siblings) {
      if (tree[id].kind != kind_ || !tree[id].visits) continue;
      const double value = utility(tree[id].mean());
      best = n == 0 ? value : std::max(best, value);
      sum += value;
      ++n;
    }
    Verdict verdict;
    if (n == 0) return verdict;
    verdict.enough = (of_ == Of::best ? best : sum / static_cast<double>(n)) > threshold_;
    for (NodeId id : siblings)
      if ((tree[id].kind == kind_) != verdict.enough) verdict.cut.emplace_back(id, verdict.enough ? Reason::skipped : Reason::below_threshold);
    return verdict;
  }

 private:
  Kind kind_;
  double threshold_;
  Of of_;
};

}  // namespace espalier
