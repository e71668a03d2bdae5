#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

/// Stop rules: they end a search before its simulations are used up. They see only merged simulations, in index order.
namespace espalier {

namespace detail {

/// Never stops a search early.
struct NeverStop {
  template <class Tree>
  bool operator()(const Tree&, NodeId) const {
    return false;
  }
};

}  // namespace detail

/// Stops when one answer has its share of all answers. An answer is the end of a rollout, or a terminal node that was
/// evaluated without rollouts. key(state) -> text: equal for answers that say the same.
template <class Key>
class AnswerShare {
 public:
  struct Options {
    double share = 0.5;          ///< a share of all answers, (0, 1]
    std::uint64_t at_least = 8;  ///< number of answers before the rule applies, > 0
  };
  AnswerShare(Options options, Key key) : options_(options), key_(std::move(key)) {
    if (!(options_.share > 0 && options_.share <= 1)) bad_option("share", options_.share, "(0, 1]");
    if (options_.at_least == 0) bad_option("at_least", options_.at_least, "1 or more");
  }
  template <class Tree>
  bool operator()(const Tree& tree, NodeId node) {
    const bool answer = tree[node].status == Status::terminal && tree[node].visits == 1;
    if (answer && tree.rollouts.size() == seen_) count(key_(tree.state(node)));
    for (; seen_ < tree.rollouts.size(); ++seen_) count(key_(tree.rollouts[seen_].state));
    return all_ >= options_.at_least && static_cast<double>(most_) >= options_.share * static_cast<double>(all_);
  }

 private:
  void count(std::string answer) {
    ++all_;
    most_ = std::max(most_, ++votes_[std::move(answer)]);
  }
  Options options_;
  Key key_;
  std::map<std::string, std::uint64_t> votes_{};
  std::uint64_t all_ = 0, most_ = 0;
  std::size_t seen_ = 0;  ///< rollouts counted so far
};

/// Stops when the visits concentrate on few of the root's children. The measure is the entropy -sum p ln p of their
/// shares p of the visits, in nats.
class VisitEntropy {
 public:
  struct Options {
    double below = 0.5;           ///< nats, > 0
    std::uint64_t at_least = 16;  ///< visits of the root before the rule applies, > 0
  };
  VisitEntropy() = default;
  explicit VisitEntropy(Options options) : options_(options) {
    if (!(options_.below > 0)) bad_option("below", options_.below, "above 0");
    if (options_.at_least == 0) bad_option("at_least", options_.at_least, "1 or more");
  }
  template <class Tree>
  bool operator()(const Tree& tree, NodeId) const {
    return tree[Tree::root()].visits >= options_.at_least && of(tree, Tree::root()) < options_.below;
  }
  /// The entropy of the visits of a node's children, in nats. It is 0 without visits.
  template <class Tree>
  static double of(const Tree& tree, NodeId parent) {
    double all = 0, sum = 0;
    for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling) all += tree[id].visits;
    for (NodeId id = tree[parent].first_child; id != no_node; id = tree[id].next_sibling)
      if (tree[id].visits > 0) sum -= tree[id].visits / all * std::log(tree[id].visits / all);
    return sum;
  }

 private:
  Options options_;
};

}  // namespace espalier
