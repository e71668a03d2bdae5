#pragma once

#include <espalier/core/error.hpp>
#include <espalier/policy/exploit.hpp>

#include <cmath>

/// Selection policies. N is a node's visits plus the simulations under way through it; those count as visits of value
/// zero (virtual loss). A parent's N holds its own evaluations besides the visits of its children.
///
/// A policy is p(parent, child) -> score. One that gives p.at(parent) -> f(child) is asked once a parent; one that gives
/// p.at(tree, parent id) -> f(child id) sees the siblings and the whole tree, and may say with p.alone(parent) where
/// p.at(parent) does as well.
namespace espalier {

/// UCT (Kocsis and Szepesvari 2006): mean + w sqrt(ln N_parent / N). A child without visits counts as visited once with the
/// mean that `first_play` gives it.
class Uct {
 public:
  struct Options {
    double w = 1.4142135623730951;              ///< exploration weight, >= 0
    double unvisited = 0;                       ///< the number of `first_play`
    FirstPlay first_play = FirstPlay::infinite;
    Normalise normalise = Normalise::none;
  };
  Uct() = default;
  explicit Uct(Options options) : options_(options) {
    if (!(options_.w >= 0)) bad_option("w", options_.w, "0 or more");
    if (std::isnan(options_.unvisited)) bad_option("unvisited", options_.unvisited, "a number");
  }
  /// Whether siblings play no part below this parent, so that at(parent) says all.
  template <class Value>
  [[nodiscard]] bool alone(const Node<Value>&) const {
    return options_.first_play == FirstPlay::infinite && options_.normalise == Normalise::none;
  }
  /// The score of a child as a function of the child alone, so that the logarithm is taken once a parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    return [scaled = scale(parent)](const Node<Value>& child) {
      const double n = child.visits + child.pending;
      if (n == 0) return std::numeric_limits<double>::infinity();
      const double inverse = 1 / n;
      return utility(child.total) * inverse + scaled * std::sqrt(inverse);
    };
  }
  template <class Tree>
  [[nodiscard]] auto at(const Tree& tree, NodeId parent) const {
    const Exploit exploit(options_.first_play, options_.unvisited, options_.normalise, tree, parent);
    return [&tree, exploit, scaled = scale(tree[parent])](NodeId child) { return score(exploit, scaled, tree[child]); };
  }
  /// The formula for one child; what needs siblings is left out.
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return score(Exploit(options_.first_play, options_.unvisited, parent), scale(parent), child);
  }

 private:
  template <class Value>
  [[nodiscard]] double scale(const Node<Value>& parent) const {
    const double n = parent.visits + parent.pending;
    return n > 1 ? options_.w * std::sqrt(std::log(n)) : 0;
  }
  template <class Value>
  static double score(const Exploit& exploit, double scaled, const Node<Value>& child) {
    const double n = child.visits + child.pending;
    if (n == 0) return exploit.unvisited(child) + scaled;
    const double inverse = 1 / n;
    return exploit.total(child) * inverse + scaled * std::sqrt(inverse);
  }
  Options options_;
};

/// PUCT: mean + c P sqrt(N_parent) / (1 + N) (ProRAG, Eq. 2). P is the child's share among the priors of its living
/// siblings. The published sum over the children's N is N_parent here, which also holds the parent's own evaluations.
class Puct {
 public:
  struct Options {
    double c = 2.5;          ///< exploration weight, >= 0
    double unvisited = 0;    ///< the number of `first_play`
    FirstPlay first_play = FirstPlay::constant;
    Normalise normalise = Normalise::none;
  };
  Puct() = default;
  explicit Puct(Options options) : options_(options) {
    if (!(options_.c >= 0)) bad_option("c", options_.c, "0 or more");
    if (std::isnan(options_.unvisited)) bad_option("unvisited", options_.unvisited, "a number");
  }
  /// Whether siblings play no part below this parent: it has all its children, so priors are shares.
  template <class Value>
  [[nodiscard]] bool alone(const Node<Value>& parent) const {
    return options_.first_play == FirstPlay::constant && options_.normalise == Normalise::none && parent.status == Status::expanded;
  }
  /// The score of a child as a function of the child alone, so that the root is taken once a parent.
  template <class Value>
  [[nodiscard]] auto at(const Node<Value>& parent) const {
    return [scaled = scale(parent), unvisited = options_.unvisited](const Node<Value>& child) {
      const double n = child.visits + child.pending;
      const double mean = n > 0 ? utility(child.total) / n : unvisited;
      return mean + scaled * static_cast<double>(child.prior) / (1 + n);
    };
  }
  template <class Tree>
  [[nodiscard]] auto at(const Tree& tree, NodeId parent) const {
    const Exploit exploit(options_.first_play, options_.unvisited, options_.normalise, tree, parent);
    const float priors = Exploit::priors(tree, parent).all;
    const double scaled = priors > 0 ? scale(tree[parent]) / static_cast<double>(priors) : 0;
    return [&tree, exploit, scaled](NodeId child) { return score(exploit, scaled, tree[child]); };
  }
  /// The formula for one child whose prior is its share; what needs siblings is left out.
  template <class Value>
  double operator()(const Node<Value>& parent, const Node<Value>& child) const {
    return score(Exploit(options_.first_play, options_.unvisited, parent), scale(parent), child);
  }

 private:
  template <class Value>
  [[nodiscard]] double scale(const Node<Value>& parent) const {
    return options_.c * std::sqrt(static_cast<double>(parent.visits + parent.pending));
  }
  template <class Value>
  static double score(const Exploit& exploit, double scaled, const Node<Value>& child) {
    const double n = child.visits + child.pending;
    const double mean = n > 0 ? exploit.total(child) / n : exploit.unvisited(child);
    return mean + scaled * static_cast<double>(child.prior) / (1 + n);
  }
  Options options_;
};

}  // namespace espalier
